"""YAML of others as an object; a browser has another module in its place."""

from collections.abc import Mapping

from app.core.translation import value_error


def values_of_yaml(text: str) -> Mapping[str, object]:
    """The values of YAML; aliases are refused, since a few lines of them can be very much.

    Raises:
        ValueError: it is not valid, or has aliases.
    """
    import yaml  # formulas alone need no package

    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        aliases = "*" in text and any(isinstance(one, yaml.AliasEvent) for one in yaml.parse(text, Loader=loader))
        found = {} if aliases else yaml.load(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = str(error.problem)[:100]
        raise value_error(
            "the configuration is not valid YAML in line {line}: {problem}", line=line, problem=problem
        ) from None
    except (yaml.YAMLError, RecursionError, OverflowError, ValueError) as error:
        raise value_error("the configuration is not valid YAML: {problem}", problem=str(error)[:100]) from None
    if aliases:
        raise value_error("the configuration has aliases of YAML (*…): write out what they stand for")
    return {str(name): value for name, value in found.items()} if isinstance(found, dict) else {}
