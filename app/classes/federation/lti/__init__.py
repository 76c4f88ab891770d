"""LTI 1.3 Advantage: learning platforms (LMS) open assignments here, and get points back.

| to | see |
|---|---|
| register a platform, allow it and its deployments | `platforms` |
| begin a launch, and know that it ends in the same browser | `opening` |
| read the message of a launch | `launching` |
| seal a launch into a ticket that works once | `tickets` |
| know which person, class and assignment a launch is | `arriving` |
| answer a teacher who chooses assignments | `choosing` |
| sign messages, and publish our keys | `keys` |
| call a service of a platform | `services` |
| send a score | `scores` |
| read the roster of a course | `roster` |
| register a platform by a link that works once | `registering` |
| test a platform | `testing` |
| all of these with the packages that they need | `tool` |
"""
