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

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-typer@0.12:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-pydantic@2.7:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-scipy@1.12:", type=("build", "run"))
    depends_on("py-polars", type=("build", "run"))
    depends_on("py-orjson@3.10:", type=("build", "run"))
    depends_on("py-pybase64", type=("build", "run"))
    depends_on("py-duckdb", type=("build", "run"))
    depends_on("py-hdrhistogram", type=("build", "run"))
    depends_on("py-plotly@5.22:", type=("build", "run"))
    depends_on("py-matplotlib@3.8:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-clustershell@1.9:", type=("build", "run"))
    depends_on("py-cryptography@42:", type=("build", "run"))
    depends_on("py-msgspec@0.19:", type=("build", "run"))
    depends_on("py-tomli-w@1.0:", type=("build", "run"))
    depends_on("py-prometheus-client@0.22:", type=("build", "run"))
