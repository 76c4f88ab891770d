"""Persons, classes, assignments and grades; practice needs none of them.

A visitor without a session is a learner with a random number. One who joins a class or signs in is
a *person*, with a learner of their own, whose answers are stored in the same table.
"""
