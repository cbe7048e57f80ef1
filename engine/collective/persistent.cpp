#include "collective/persistent.hpp"

#include <dlfcn.h>

#include <cctype>

namespace sonde::collective {

std::string persistent_name(std::string_view operation) {
    std::string name = "MPI_" + std::string(operation) + "_init";
    name[4] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[4])));
    return name;
}

void* find_persistent(std::string_view operation) {
    const std::string name = persistent_name(operation);
    if (void* const found = ::dlsym(RTLD_DEFAULT, name.c_str()); found != nullptr) {
        return found;
    }
    return ::dlsym(RTLD_DEFAULT, ("MPIX" + name.substr(3)).c_str());
}

} // namespace sonde::collective
