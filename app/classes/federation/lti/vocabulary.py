"""The names of LTI 1.3 Advantage, as its specifications spell them."""

CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
DEEP_LINKING = "https://purl.imsglobal.org/spec/lti-dl/claim/"
GRADES = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
ROSTER = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
LINE_ITEM_SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/lineitem"
SCORE_SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/score"
ROSTER_SCOPE = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
SCOPES = (LINE_ITEM_SCOPE, SCORE_SCOPE, ROSTER_SCOPE)

VERSION = "1.3.0"
RESOURCE_LINK = "LtiResourceLinkRequest"
DEEP_LINK = "LtiDeepLinkingRequest"
DEEP_LINK_ANSWER = "LtiDeepLinkingResponse"

LINE_ITEM_TYPE = "application/vnd.ims.lis.v2.lineitem+json"
LINE_ITEMS_TYPE = "application/vnd.ims.lis.v2.lineitemcontainer+json"
SCORE_TYPE = "application/vnd.ims.lis.v1.score+json"
ROSTER_TYPE = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"

TAG = "wallclock"  # of our line items
LAUNCH = "/lti/launch"
