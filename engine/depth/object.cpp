#include "depth/object.hpp"

// The assembler takes the file in as it is; CMake says where it lies.
asm(".section .rodata\n"
    ".balign 16\n"
    ".local depth_object_begin\n"
    "depth_object_begin:\n"
    ".incbin \"" SONDE_DEPTH_OBJECT "\"\n"
    ".local depth_object_end\n"
    "depth_object_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const std::byte depth_object_begin;
extern const std::byte depth_object_end;
}

namespace sonde {

const std::span<const std::byte> depth_object{&depth_object_begin, &depth_object_end};

} // namespace sonde
