// The certified OpenID provider of npm (oidc-provider) with the clients of the tests:
//   node server.mjs FOLDER_OF_THE_PACKAGE PORT REDIRECT_URI
import { pathToFileURL } from 'node:url'

const [folder, port, back] = process.argv.slice(2)
const { Provider } = await import(pathToFileURL(`${folder}/lib/index.js`))
const issuer = `http://localhost:${port}`
const client = (id, method, secret) => ({
  client_id: id, redirect_uris: [back], grant_types: ['authorization_code'], response_types: ['code'],
  token_endpoint_auth_method: method, ...(secret && { client_secret: secret }),
})
const provider = new Provider(issuer, {
  clients: [
    client('wall clock', 'client_secret_basic', 'not so:secret+&%'),
    client('posting', 'client_secret_post', 'not so secret'),
    client('public', 'none'),
  ],
  pkce: { required: () => true },
  features: { devInteractions: { enabled: true } },
  findAccount: (ctx, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
})
provider.listen(Number(port), '127.0.0.1', () => console.log(issuer))
