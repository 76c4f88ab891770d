"""The colors of figures: what each stands for on the whole site, and those of curves to compare."""

from enum import StrEnum


class Tone(StrEnum):
    """What a filled part stands for; a color and a pattern that nothing else has.

    The value is the end of the CSS class: the letter of a color, then the letter of a pattern: s
    for stripes, d for dots, x for a grid, h for level lines. Neighbors differ in their pattern
    wherever their colors are about as light.
    """

    COMPUTE = "f"  # the forward pass, and what computes in general
    WEIGHTS = "f"  # what the forward pass computes with
    RECOMPUTE = "fs"
    BACKWARD = "bs"
    GRADIENTS = "bs"  # what the backward pass computes
    WEIGHT_GRADIENT = "wd"  # the half of a backward pass that can wait
    OPTIMIZER = "w"
    MASTER = "w"  # of the optimizer's state: the weights in 32 bits
    FIRST_MOMENT = "wx"
    SECOND_MOMENT = "wh"
    ACTIVATIONS = "as"
    BUFFERS = "id"
    COMMUNICATION = "c"
    NVLINK = "c"  # traffic inside a node
    NETWORK = "cs"  # traffic between nodes
    EXPOSED = "cx"  # time in which a GPU communicates and does nothing else
    ACROSS_PODS = "cx"
    HBM = "i"  # traffic inside a GPU
    IDLE = "e"
    DROPPED = "rs"  # what does not fit


class Color(StrEnum):
    """The color of a curve, a line or an outline: its value is the letter in the CSS classes.

    Curves are named where they end, and a style sheet gives each color its own dashes. GRAY is for
    what is only there to compare with, PALE for what is not lit.
    """

    BLUE = "f"
    ORANGE = "b"
    PURPLE = "w"
    GREEN = "c"
    GRAY = "i"
    PALE = "e"
