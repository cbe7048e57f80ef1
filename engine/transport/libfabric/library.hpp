// libfabric, loaded when it is asked for: one program works with whatever library a site has.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <memory>
#include <string>

namespace sonde {

struct FreeFabricInfo {
    void (*free)(fi_info*) = nullptr;
    void operator()(fi_info* info) const noexcept {
        if (info != nullptr) {
            free(info);
        }
    }
};
using FabricInfo = std::unique_ptr<fi_info, FreeFabricInfo>;

// Its functions that are no inline ones of its headers. They stay for as long as the process.
class FabricLibrary {
public:
    // The file that NETSONDE_LIBFABRIC names, else the system's. Throws Failure("unsupported")
    // where there is none, or one that is too old.
    FabricLibrary();

    [[nodiscard]] std::string version() const;
    [[nodiscard]] FabricInfo no_info() const; // an empty one, for hints
    [[nodiscard]] FabricInfo copy_of(const fi_info& info) const;
    [[nodiscard]] FabricInfo adopt(fi_info* info) const noexcept;
    // node: numeric address of this host, null for none. None where nothing fits; throws Failure.
    [[nodiscard]] FabricInfo find(const char* node, std::uint64_t flags,
                                  const fi_info* hints) const;
    [[nodiscard]] int open_fabric(fi_fabric_attr& attributes, fid_fabric*& fabric) const;
    [[nodiscard]] std::string why(int error) const; // error: positive or negative

private:
    int (*getinfo_)(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info*,
                    fi_info**) = nullptr;
    void (*freeinfo_)(fi_info*) = nullptr;
    fi_info* (*dupinfo_)(const fi_info*) = nullptr;
    int (*fabric_)(fi_fabric_attr*, fid_fabric**, void*) = nullptr;
    std::uint32_t (*version_)() = nullptr;
    const char* (*strerror_)(int) = nullptr;
};

} // namespace sonde
