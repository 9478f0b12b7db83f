"""Puts into the wheel what vtlab reads and starts outside its package, and names the machines that can start it.

All else of the build is in pyproject.toml.
"""

import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
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
            # With its mode: some are programs.
            shutil.copy(LAB.parent / path, target / path)


class WheelOfThisMachine(bdist_wheel):
    """A wheel for every Python 3 on the system that the programs in it are built for."""

    def get_tag(self) -> tuple[str, str, str]:
        """Returns the tags of interpreter, ABI and platform."""
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        # The programs are linked statically, so the C library does not matter. 2.17 is the oldest that installers know.
        return "py3", "none", platform.replace("linux_", "manylinux_2_17_", 1)


setup(cmdclass={"build_py": BuildWithData, "bdist_wheel": WheelOfThisMachine})
