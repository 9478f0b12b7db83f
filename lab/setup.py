"""Puts into the wheel what vtlab reads outside its package. All else of the build is in pyproject.toml."""

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

LAB = Path(__file__).resolve().parent
sys.path.insert(0, str(LAB))

from vtlab import shipped  # noqa: E402 (a build does not have this folder on its path)


class BuildWithData(build_py):
    """The package and a copy of the files of ``vtlab.shipped``. An editable install keeps using the checkout."""

    def run(self) -> None:
        """Copies both into the folder that becomes the wheel."""
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "vtlab", shipped.FOLDER)
        # Of an earlier build in the same folder nothing must stay.
        shutil.rmtree(target, ignore_errors=True)
        for path in shipped.files():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(LAB.parent / path, target / path)


setup(cmdclass={"build_py": BuildWithData})
