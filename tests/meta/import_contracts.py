"""A contract type for import-linter: ``forbidden``, for modules of which some are still to be written.

Names that the import graph does not have are left out instead of stopping the check. That a misspelt name would
then be checked by nobody is what ``test_imports.py`` looks after.
"""

from grimp import ImportGraph
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.domain.contract import ContractCheck
from importlinter.domain.imports import ModuleExpression


class PlannedForbiddenContract(ForbiddenContract):
    """Forbids imports between those of the named modules that exist."""

    type_name = "planned_forbidden"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's signature
        self.source_modules = {name for name in self.source_modules if _exists(name, graph)}
        self.forbidden_modules = {name for name in self.forbidden_modules if _exists(name, graph)}
        if not self.source_modules or not self.forbidden_modules:
            return ContractCheck(kept=True, metadata={"invalid_chains": []})
        return super().check(graph, verbose)


def _exists(expression: ModuleExpression, graph: ImportGraph) -> bool:
    root = expression.expression.partition(".")[0]
    ours = root in {"controlplane", "chaos"}
    return expression.has_wildcard_expression() or not ours or expression.expression in graph.modules
