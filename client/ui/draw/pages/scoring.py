"""The page of a step of the scoring."""

from client.language import _
from client.ui.draw.frame import Block
from client.ui.draw.lines import EMPTY
from client.ui.draw.page import ServerPage
from client.ui.draw.scene import Scene, scene
from client.ui.draw.scoring_panel import ScoringPanel
from client.ui.draw.table_layout import small_table_block, table_block
from client.ui.texts.people import names_at
from client.ui.update.table.scoring_steps import hill_of, last_step, steps
from engine.view import View


class ScoringDrawing(ServerPage, frozen=True):
    """A step of the walk through the scoring."""

    step: int
    view: View

    @property
    def stage(self) -> str:
        return scoring_stage(self.view, self.step)

    def body(self, width: int, height: int) -> Block:
        scene = self._scene()

        def panel(columns: int, rows: int) -> Block:
            return self.panel_block(scene, columns, rows)

        return table_block(
            self.ui,
            (scene.board, scene.marks),
            self.glyphs,
            (width, height),
            panel=panel,
            sentence=scene.sentence,
        )

    def small_body(self, width: int, height: int) -> Block:
        scene = self._scene()
        return small_table_block(
            self.ui,
            (scene.board, scene.marks),
            self.glyphs,
            (width, height),
            panel=None,
            hand=EMPTY,
            below=height // 2,
            sentence=scene.sentence,
        )

    def panel_block(self, scene: Scene, width: int, height: int) -> Block:  # noqa: ARG002 - lessons need it
        number = _("step {number} of {last}").format(number=self.step + 1, last=last_step(self.view) + 1)
        return ScoringPanel(scene, self.view, names_at(self.model), self.glyphs, width).block(number)

    def _scene(self) -> Scene:
        return scene(self.view, self.step, names_at(self.model))


def scoring_stage(view: View, number: int) -> str:
    """Return how far the walk through the scoring is."""
    hill = hill_of(view.scoring[steps(view)[number].event])
    if hill is not None:
        return _("scoring hill {hill}").format(hill=hill)
    return _("the scoring") if number == 0 else _("the result")
