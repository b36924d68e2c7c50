"""The Python package of zfinder, for Spack."""

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyPyzfinder(PythonPackage):
    """Primary vertices from numpy, awkward and Arrow arrays of spacepoints. With the command."""

    homepage = "https://OWNER.github.io/zfinder"
    git = "https://github.com/OWNER/zfinder.git"

    license("MIT OR Apache-2.0")

    version("0.1.0", tag="v0.1.0")

    variant("awkward", default=False, description="Search awkward arrays")

    build_directory = "python"

    with default_args(type="build"):
        depends_on("c")
        depends_on("rust@1.95:")
        depends_on("py-maturin@1.9:1")

    with default_args(type=("build", "run")):
        depends_on("python@3.10:")
        depends_on("py-numpy@1.22:")
        depends_on("py-awkward@2.6:", when="+awkward")

    import_modules = ["pyzfinder"]
