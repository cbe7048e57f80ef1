// In place of the loader where the build found no Clang or no libbpf.
#include "depth/depth.hpp"

namespace sonde {

std::unique_ptr<Depth> load_depth(DepthMissing& missing) {
    missing = {"not_compiled", "sonde-worker was built without Clang or libbpf"};
    return nullptr;
}

} // namespace sonde
