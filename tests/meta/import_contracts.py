"""A contract type for import-linter: ``forbidden``, for modules of which some are still to be written.

Names that the import graph does not have are left out instead of stopping the check. That nobody would then
check a misspelt name is what ``test_imports.py`` looks after.
"""

from grimp import ImportGraph
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.domain.contract import ContractCheck
from importlinter.domain.imports import ModuleExpression


class PlannedForbiddenContract(ForbiddenContract):
    """Forbids imports between those of the named modules that exist."""

    type_name = "planned_forbidden"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        for field in ("source_modules", "forbidden_modules"):
            present = {name for name in getattr(self, field) if _exists(name, graph)}
            setattr(self, field, present)
            if not present:
                return ContractCheck(kept=True, metadata={"invalid_chains": []})
        return super().check(graph, verbose)


def _exists(expression: ModuleExpression, graph: ImportGraph) -> bool:
    root = expression.expression.partition(".")[0]
    ours = root in {"controlplane", "chaos"}
    return expression.has_wildcard_expression() or not ours or expression.expression in graph.modules
