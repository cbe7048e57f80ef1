#include "kernel_trace/object.hpp"

// The assembler takes the file in as it is; CMake says where it lies.
asm(".section .rodata\n"
    ".balign 16\n"
    ".local trace_object_begin\n"
    "trace_object_begin:\n"
    ".incbin \"" SONDE_KERNEL_TRACE_OBJECT "\"\n"
    ".local trace_object_end\n"
    "trace_object_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const std::byte trace_object_begin;
extern const std::byte trace_object_end;
}

namespace sonde {

const std::span<const std::byte> kernel_trace_object{&trace_object_begin, &trace_object_end};

} // namespace sonde
