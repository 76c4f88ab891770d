# TRIES: an event loop that never ends | MUST: refused
def solve(x):
    import asyncio

    async def f():
        while True:
            await asyncio.sleep(0)

    return asyncio.run(f())
