from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class Netsonde(PythonPackage):
    """Measures, explains and predicts how a cluster's network performs."""

    license("Apache-2.0")

    version("main", branch="main")
    version("0.2.0")
    version("0.1.0")

    def url_for_version(self, version):
        """Sources are taken from where they lie, by ``spack dev-build``."""
        raise InstallError("give the sources with: spack dev-build netsonde@" + str(version))

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("py-scikit-build-core@0.10:", type="build")

    # The worker for MPI is built with the cluster's own MPI.
    depends_on("mpi", type=("build", "run"))

    # What pyproject.toml asks for, and its extras as variants; a test holds them together.
    variant("analysis", default=True, description="Tables as Parquet, distributions, histograms")
    variant("png", default=True, description="Plots as PNG, SVG and PDF")
    variant("history", default=True, description="Many runs in one file")
    variant("serve", default=True, description="The other end for strangers")

    depends_on("python@3.11:", type=("build", "run"))
    with default_args(type=("build", "run")):
        depends_on("py-typer@0.12:")
        depends_on("py-rich@13:")
        depends_on("py-pydantic@2.10:")
        depends_on("py-numpy@1.26:")
        depends_on("py-orjson@3.10:")
        depends_on("py-pybase64@1.4:")
        depends_on("py-msgspec@0.19:")
        depends_on("py-jinja2@3.1:")
        depends_on("py-clustershell@1.9:")
        depends_on("py-tomli-w@1.0:")
        depends_on("py-prometheus-client@0.22:")
        depends_on("py-polars@2.0:", when="+analysis")
        depends_on("py-scipy@1.12:", when="+analysis")
        depends_on("py-hdrhistogram@0.10:", when="+analysis")
        depends_on("py-matplotlib@3.8:", when="+png")
        depends_on("py-duckdb@1.2:", when="+history")
        depends_on("py-cryptography@42:", when="+serve")
