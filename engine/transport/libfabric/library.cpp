#include "transport/libfabric/library.hpp"

#include <dlfcn.h>
#include <rdma/fi_errno.h>

#include <cstdlib>
#include <string>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr const char* place_variable = "NETSONDE_LIBFABRIC";
constexpr const char* usual_file = "libfabric.so.1";
// What is asked for: the API as it stands since 2020, which later ones keep.
constexpr std::uint32_t api = FI_VERSION(1, 11);

Failure unusable(const std::string& what) {
    return {"unsupported", "libfabric cannot be used here: " + what +
                               "; install it (Debian: libfabric1), or name a site's own by the "
                               "variable " +
                               std::string(place_variable)};
}

// The version of a symbol is that of the layout of what it takes: fields may come behind, in
// structures of another version.
template <class Function>
void find_symbol(void* library, const char* name, const char* version, Function& found) {
    found = reinterpret_cast<Function>(::dlvsym(library, name, version));
    if (found == nullptr) {
        throw unusable(std::string("it has no ") + name + " of " + version +
                       ", so it is older than 1.11");
    }
}

void* load() {
    const char* const named = std::getenv(place_variable); // NOLINT(concurrency-mt-unsafe)
    const char* const file = named != nullptr && *named != '\0' ? named : usual_file;
    // Providers have threads and handlers that outlive a library that is unloaded.
    void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
        const char* const why = ::dlerror(); // NOLINT(concurrency-mt-unsafe)
        throw unusable(why != nullptr ? why : file);
    }
    return library;
}

} // namespace

FabricLibrary::FabricLibrary() {
    void* const library = load();
    find_symbol(library, "fi_version", "FABRIC_1.0", version_);
    find_symbol(library, "fi_strerror", "FABRIC_1.0", strerror_);
    find_symbol(library, "fi_fabric", "FABRIC_1.1", fabric_);
    find_symbol(library, "fi_getinfo", "FABRIC_1.3", getinfo_);
    find_symbol(library, "fi_freeinfo", "FABRIC_1.3", freeinfo_);
    find_symbol(library, "fi_dupinfo", "FABRIC_1.3", dupinfo_);
    if (version_() < api) {
        throw unusable("it is version " + version() + ", and 1.11 is the oldest that will do");
    }
}

std::string FabricLibrary::version() const {
    const std::uint32_t version = version_();
    return std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
}

FabricInfo FabricLibrary::no_info() const {
    FabricInfo info = adopt(dupinfo_(nullptr));
    if (!info) {
        throw Failure("no_memory", "not enough memory for libfabric's hints");
    }
    return info;
}

FabricInfo FabricLibrary::copy_of(const fi_info& info) const {
    FabricInfo copy = adopt(dupinfo_(&info));
    if (!copy) {
        throw Failure("no_memory", "not enough memory for what libfabric says of an endpoint");
    }
    return copy;
}

FabricInfo FabricLibrary::adopt(fi_info* info) const noexcept {
    return {info, FreeFabricInfo{freeinfo_}};
}

FabricInfo FabricLibrary::find(const char* node, std::uint64_t flags, const fi_info* hints) const {
    fi_info* found = nullptr;
    const int error = getinfo_(api, node, nullptr, flags, hints, &found);
    if (error == -FI_ENODATA) {
        return adopt(nullptr);
    }
    if (error != 0) {
        throw Failure("unsupported", "libfabric does not tell what it offers: " + why(error));
    }
    return adopt(found);
}

int FabricLibrary::open_fabric(fi_fabric_attr& attributes, fid_fabric*& fabric) const {
    return fabric_(&attributes, &fabric, nullptr);
}

std::string FabricLibrary::why(int error) const { return strerror_(error < 0 ? -error : error); }

} // namespace sonde
