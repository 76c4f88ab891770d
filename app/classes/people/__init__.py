"""Persons, classes, assignments and grades; practice needs none of them.

A visitor without a session is a learner with a random number. One who joins a class or signs in is
a *person*, with a learner of their own, whose answers are stored in the same table.

| to | see |
|---|---|
| make a person, sign in and out, know who is signed in | `persons` |
| read a code that was typed, make a new one | `codes` |
| make a class, know its members and their roles | `classes` |
| make an assignment, extend it | `assignments` |
| know a person's dates, and what an answer is worth | `policy` |
| know which drawing of an exercise is a person's own | `variants` |
| know the points of a class | `gradebook` |
| weigh assignments, leave out the lowest | `overall_grades` |
"""
