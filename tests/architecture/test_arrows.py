"""Arrows that import-linter cannot see: relations by name, the engine inside its app, names that say nothing."""

import ast
from collections.abc import Iterator

from tests.architecture.source_files import APPS, Module, calls, modules, product

RELATIONS = {"ForeignKey", "OneToOneField", "ManyToManyField", "get_model"}
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "shared", "base_utils"}
ENGINE_INSIDES = ("chunking", "codec", "format", "index", "objects", "packs", "sessions")
LEAF_APPS = {"access"}


def named_apps(module: Module) -> Iterator[tuple[str, str]]:
    """Yield (place, app) for each model named by a string and each dependency of a migration."""
    for call, name in calls(module):
        if name.split(".")[-1] in RELATIONS:
            words = [*call.args, *(each.value for each in call.keywords if each.arg == "to")]
            yield from ((module.where(call), word.split(".")[0]) for word in _texts(words[:1] or words))
    for node in ast.walk(module.tree):
        if module.is_migration and isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "dependencies":
            pairs = [each for each in ast.walk(node.value) if isinstance(each, ast.Tuple)]
            yield from ((module.where(pair), word) for pair in pairs for word in _texts(pair.elts[:1]))


def _texts(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_models_named_by_strings_follow_the_arrows() -> None:
    breaches = []
    for module in modules(*APPS, "syncova_project"):
        own = module.path.split("/")[0]
        allowed = set(APPS[: APPS.index(own) + 1]) | LEAF_APPS if own in APPS else LEAF_APPS
        foreign = set(APPS) - allowed
        breaches += [f"{place} names {app}" for place, app in named_apps(module) if app in foreign]
    assert breaches == []


def test_a_relation_by_name_is_seen() -> None:
    text = "x = models.ForeignKey('jobs.Run', on_delete=models.CASCADE)\ny = models.ForeignKey(to='workers.Y')"
    found = list(named_apps(Module("repositories/models.py", text, ast.parse(text))))
    assert found == [("repositories/models.py:1", "jobs"), ("repositories/models.py:2", "workers")]


def test_the_engine_imports_nothing_of_the_app_around_it() -> None:
    breaches = [
        f"{module.where(node)} imports {name}"
        for module in modules("repositories/engine")
        for node in ast.walk(module.tree)
        for name in _imported(node)
        if name.split(".")[0] == "repositories" and not f"{name}.".startswith("repositories.engine.")
    ]
    assert breaches == []


def test_the_app_around_the_engine_uses_its_front_door() -> None:
    """The other outsiders are import-linter's; it cannot name a package without the engine inside it."""
    inside = {f"repositories.engine.{name}" for name in ENGINE_INSIDES}
    breaches = [
        f"{module.where(node)} imports {name}"
        for module in modules("repositories")
        for node in ast.walk(module.tree)
        for name in _imported(node)
        if not module.path.startswith("repositories/engine/") and ".".join(name.split(".")[:3]) in inside
    ]
    assert breaches == []


def test_no_relative_and_no_star_imports() -> None:
    breaches = [
        module.where(node)
        for module in product()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and (node.level or node.names[0].name == "*")
    ]
    assert breaches == []


def test_names_say_what_is_inside() -> None:
    words = {each.path: set(each.path.removesuffix(".py").split("/")) for each in modules(*APPS, "syncova_project")}
    assert [path for path, parts in words.items() if parts & EMPTY_NAMES] == []


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom) and node.module == "repositories":
        return [f"repositories.{each.name}" for each in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []
