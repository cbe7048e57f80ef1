// In place of the loader where the build found no Clang or no libbpf.
#include "kernel_trace/kernel_trace.hpp"

namespace sonde {

std::unique_ptr<KernelTrace> load_kernel_trace(KernelTraceMissing& missing) {
    missing = {"not_compiled", "sonde-worker was built without Clang or libbpf"};
    return nullptr;
}

} // namespace sonde
