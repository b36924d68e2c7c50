"""The command and the C library of zfinder, for Spack."""

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Zfinder(Package):
    """Finds primary vertices from raw tracker spacepoints, on any GPU or on the CPU."""

    homepage = "https://OWNER.github.io/zfinder"
    git = "https://github.com/OWNER/zfinder.git"

    license("MIT OR Apache-2.0")

    version("0.1.0", tag="v0.1.0")

    variant("root", default=True, description="Read and write ROOT files in the command")
    variant("serve", default=True, description="Build the command `zfinder serve`")
    variant("capi", default=True, description="Install the C and C++ library")

    # Cargo compiles sources in C of some dependencies.
    depends_on("c", type="build")
    depends_on("rust@1.95:", type="build")

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        # Otherwise the programs would link the liblzma that pkg-config finds outside of Spack.
        env.set("LZMA_API_STATIC", "1")

    def install(self, spec, prefix):
        """Build with cargo, which downloads the dependencies of Cargo.lock."""
        cargo = Executable("cargo")
        features = [name for name in ("root", "serve") if spec.satisfies(f"+{name}")]
        cargo(
            "install", "--locked", "--no-track", "--bins", "--root", prefix, "-j", str(make_jobs),
            "--path", "crates/zfinder-cli", "--no-default-features", "--features", ",".join(features),
        )
        if spec.satisfies("+capi"):
            cargo("build", "--release", "--locked", "-j", str(make_jobs), "-p", "zfinder-capi")
            Executable("crates/zfinder-capi/install")(prefix)

    def test_verify(self):
        """The CPU engine gives the published digests."""
        Executable(self.prefix.bin.zfinder)("verify", "--case", "pairs")
