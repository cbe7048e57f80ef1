#include "transport/link/xdp_program.hpp"

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sys/syscall.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/failure.hpp"

namespace sonde {
namespace {

// Short names for instructions, as the kernel's own sources have them.
constexpr bpf_insn instruction(unsigned code, unsigned to, unsigned from, int offset,
                               std::int32_t value) {
    bpf_insn made{};
    made.code = static_cast<__u8>(code);
    made.dst_reg = to & 0xFU;
    made.src_reg = from & 0xFU;
    made.off = static_cast<__s16>(offset);
    made.imm = value;
    return made;
}
constexpr bpf_insn load(unsigned size, unsigned to, unsigned from, int offset) {
    return instruction(BPF_LDX | size | BPF_MEM, to, from, offset, 0);
}
constexpr bpf_insn set(unsigned to, std::int32_t value) {
    return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}
constexpr bpf_insn copy(unsigned to, unsigned from) {
    return instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}
constexpr bpf_insn add(unsigned to, std::int32_t value) {
    return instruction(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value);
}
constexpr bpf_insn jump_if(unsigned how, unsigned left, std::int32_t right, int over) {
    return instruction(BPF_JMP | how | BPF_K, left, 0, over, right);
}

constexpr std::int32_t as_in_frame(std::uint16_t value) {
    return std::endian::native == std::endian::little ? __builtin_bswap16(value) : value;
}

// if (frame is ours && first <= its number <= last) return bpf_redirect_map(sockets, queue,
// XDP_PASS); return XDP_PASS;
std::array<bpf_insn, 19> program_for(EndpointNumbers numbers, int sockets) {
    constexpr int data = 0;
    constexpr int data_end = 4;
    constexpr int rx_queue = 16; // of xdp_md
    constexpr int type_at = 12;
    constexpr int number_at = 14;
    const std::int32_t last = numbers.first + numbers.count - 1;
    return {{
        load(BPF_W, 2, 1, data),
        load(BPF_W, 3, 1, data_end),
        copy(4, 2),
        add(4, number_at + 2),
        instruction(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 12, 0), // too short
        load(BPF_H, 5, 2, type_at),
        jump_if(BPF_JNE, 5, as_in_frame(link_ether_type), 10),
        load(BPF_H, 5, 2, number_at),
        instruction(BPF_ALU | BPF_END | BPF_TO_BE, 5, 0, 0, 16),
        jump_if(BPF_JLT, 5, numbers.first, 7),
        jump_if(BPF_JGT, 5, last, 6),
        load(BPF_W, 2, 1, rx_queue),
        instruction(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, sockets),
        instruction(0, 0, 0, 0, 0), // the second half of the one before
        set(3, XDP_PASS),
        instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
        instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
        set(0, XDP_PASS),
        instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    }};
}

int bpf(bpf_cmd command, bpf_attr& asked) {
    return static_cast<int>(::syscall(SYS_bpf, command, &asked, sizeof asked));
}

Failure refused(const std::string& what) {
    const int error = errno;
    if (error == EPERM || error == EACCES) {
        return {"unsupported",
                "driver xdp needs CAP_BPF and CAP_NET_ADMIN beside CAP_NET_RAW, which "
                "this worker has not: run it as root of the machine, or take driver "
                "ring"};
    }
    return {"unsupported",
            "driver xdp cannot " + what + " (" + std::strerror(error) + "): take driver ring"};
}

Descriptor make_map(int socket) {
    bpf_attr asked{};
    asked.map_type = BPF_MAP_TYPE_XSKMAP;
    asked.key_size = sizeof(std::uint32_t);
    asked.value_size = sizeof(int);
    asked.max_entries = 1;
    Descriptor map(bpf(BPF_MAP_CREATE, asked));
    if (!map) {
        throw refused("make a map of sockets");
    }
    const std::uint32_t first_queue = 0;
    bpf_attr entry{};
    entry.map_fd = static_cast<__u32>(map.get());
    entry.key = std::bit_cast<std::uintptr_t>(&first_queue);
    entry.value = std::bit_cast<std::uintptr_t>(&socket);
    if (bpf(BPF_MAP_UPDATE_ELEM, entry) != 0) {
        throw refused("put its socket into a map");
    }
    return map;
}

Descriptor load_program(EndpointNumbers numbers, int sockets) {
    const auto program = program_for(numbers, sockets);
    constexpr const char* license = "GPL";
    bpf_attr asked{};
    asked.prog_type = BPF_PROG_TYPE_XDP;
    asked.insns = std::bit_cast<std::uintptr_t>(program.data());
    asked.insn_cnt = program.size();
    asked.license = std::bit_cast<std::uintptr_t>(license);
    Descriptor loaded(bpf(BPF_PROG_LOAD, asked));
    if (!loaded) {
        throw refused("load its program");
    }
    return loaded;
}

Descriptor attach(const LinkDevice& device, int program, XdpMode mode) {
    bpf_attr asked{};
    asked.link_create.prog_fd = static_cast<__u32>(program);
    asked.link_create.target_ifindex = static_cast<__u32>(device.index);
    asked.link_create.attach_type = BPF_XDP;
    asked.link_create.flags = mode == XdpMode::native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
    Descriptor link(bpf(BPF_LINK_CREATE, asked));
    if (!link && (errno == EBUSY || errno == EEXIST)) {
        throw Failure("unsupported",
                      "driver xdp takes an interface for itself, and " + device.name +
                          " has an XDP program already: take driver ring, or measure "
                          "by another interface");
    }
    if (!link) {
        throw refused("attach its program to " + device.name);
    }
    return link;
}

} // namespace

XdpProgram::XdpProgram(const LinkDevice& device, EndpointNumbers numbers, int socket, XdpMode mode)
    : sockets_(make_map(socket)), program_(load_program(numbers, sockets_.get())),
      link_(attach(device, program_.get(), mode)) {}

} // namespace sonde
