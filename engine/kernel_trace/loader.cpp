// Loads the eBPF programs with libbpf and reads their maps.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "kernel_trace/events.hpp"
#include "kernel_trace/kernel_trace.hpp"
#include "kernel_trace/object.hpp"
#include "kernel_trace/totals.hpp"

namespace sonde {
namespace {

constexpr const char* own_number_program = "who_am_i";
constexpr const char* btf_file = "/sys/kernel/btf/vmlinux";
// Kernels without frequency scaling or for machines without interrupts have no place for these.
constexpr std::array<std::pair<const char*, const char*>, 4> optional_programs{{
    {"on_interrupt", "irq_handler_entry"},
    {"on_interrupt_done", "irq_handler_exit"},
    {"on_frequency", "cpu_frequency"},
    {"on_call", "sys_enter"},
}};

int keep_silent(libbpf_print_level /*level*/, const char* /*format*/, va_list /*arguments*/) {
    return 0;
}

bool has_capability(const std::array<__user_cap_data_struct, 2>& sets, unsigned number) {
    return ((sets.at(number / 32).effective >> (number % 32)) & 1U) != 0;
}

// Tracing programs take CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN.
bool may_trace() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> sets{};
    if (::syscall(SYS_capget, &header, sets.data()) != 0) {
        return false;
    }
    return has_capability(sets, CAP_SYS_ADMIN) ||
           (has_capability(sets, CAP_BPF) && has_capability(sets, CAP_PERFMON));
}

bool has_tracepoint(const btf* types, const char* name) {
    const std::string type = std::string("btf_trace_") + name;
    return btf__find_by_name_kind(types, type.c_str(), BTF_KIND_TYPEDEF) > 0;
}

int socket_value(int socket, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    if (::getsockopt(socket, SOL_SOCKET, name, &value, &size) != 0) {
        throw system_failure("ask a socket what it is");
    }
    return value;
}

std::uint64_t cookie_of(int socket) {
    std::uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    if (::getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) {
        throw system_failure("read a socket's cookie");
    }
    return cookie;
}

std::uint16_t local_port(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        throw system_failure("read a socket's address");
    }
    // The port lies at the same place in both families.
    sockaddr_in either{};
    std::memcpy(&either, &address, sizeof either);
    return ntohs(either.sin_port);
}

// The programs and maps, loaded; closing it removes them from the kernel.
class Object {
public:
    // error: what the kernel said where this is empty.
    static Object load(int& error) {
        Object object;
        libbpf_set_print(keep_silent);
        object.whole_ =
            bpf_object__open_mem(kernel_trace_object.data(), kernel_trace_object.size(), nullptr);
        error = object.whole_ == nullptr ? errno : object.choose();
        error = error != 0 ? error : -bpf_object__load(object.whole_);
        if (error != 0) {
            object.close();
        }
        return object;
    }

    Object() = default;
    ~Object() { close(); }
    Object(Object&& other) noexcept
        : whole_(std::exchange(other.whole_, nullptr)), links_(std::move(other.links_)) {}
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    Object& operator=(Object&&) = delete;

    explicit operator bool() const noexcept { return whole_ != nullptr; }

    // The kernel's number of this process goes into the maps.
    [[nodiscard]] int tell_own_number() const {
        bpf_program* const program = bpf_object__find_program_by_name(whole_, own_number_program);
        LIBBPF_OPTS(bpf_test_run_opts, options);
        return -bpf_prog_test_run_opts(bpf_program__fd(program), &options);
    }

    [[nodiscard]] int attach() {
        bpf_program* program = nullptr;
        bpf_object__for_each_program(program, whole_) {
            if (!bpf_program__autoload(program) ||
                std::strcmp(bpf_program__name(program), own_number_program) == 0) {
                continue;
            }
            bpf_link* const link = bpf_program__attach(program);
            if (link == nullptr) {
                return errno;
            }
            links_.push_back(link);
        }
        return 0;
    }

    [[nodiscard]] int map(const char* name) const {
        return bpf_object__find_map_fd_by_name(whole_, name);
    }

    [[nodiscard]] unsigned long long missed() const {
        unsigned long long all = 0;
        bpf_program* program = nullptr;
        bpf_object__for_each_program(program, whole_) {
            bpf_prog_info info{};
            std::uint32_t size = sizeof info;
            if (bpf_program__autoload(program) &&
                bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0) {
                all += info.recursion_misses;
            }
        }
        return all;
    }

private:
    // Programs for which this kernel has no place are left out, and of the two that see a datagram
    // read, one.
    [[nodiscard]] int choose() const {
        btf* const types = btf__load_vmlinux_btf();
        if (types == nullptr) {
            return errno;
        }
        const bool has_reads = has_tracepoint(types, "sock_recv_length");
        int error = leave_out(has_reads ? "on_consumed" : "on_read");
        for (const auto& [program, tracepoint] : optional_programs) {
            if (error == 0 && !has_tracepoint(types, tracepoint)) {
                error = leave_out(program);
            }
        }
        btf__free(types);
        return error;
    }

    [[nodiscard]] int leave_out(const char* program) const {
        return -bpf_program__set_autoload(bpf_object__find_program_by_name(whole_, program), false);
    }

    void close() noexcept {
        for (bpf_link* const link : links_) {
            bpf_link__destroy(link);
        }
        links_.clear();
        if (whole_ != nullptr) {
            bpf_object__close(std::exchange(whole_, nullptr));
        }
    }

    bpf_object* whole_ = nullptr;
    std::vector<bpf_link*> links_;
};

class LoadedKernelTrace : public KernelTrace {
public:
    explicit LoadedKernelTrace(Object object)
        : object_(std::move(object)), processors_(libbpf_num_possible_cpus()) {}

    void watch(int socket, SocketRole role) override {
        const std::uint64_t cookie = cookie_of(socket);
        const std::uint32_t kind = role == SocketRole::test ? TRACE_TEST : TRACE_CONTROL;
        update("sockets", &cookie, &kind);
        if (role == SocketRole::control) {
            trace_shared set = read_settings();
            set.control = static_cast<unsigned>(socket);
            set.reading = SYS_bpf;
            constexpr std::uint32_t first = 0;
            update("shared", &first, &set);
        }
        if (role == SocketRole::test) {
            const std::uint32_t port = trace_port_key(
                static_cast<unsigned>(socket_value(socket, SO_PROTOCOL)), local_port(socket));
            update("ports", &port, &kind);
        }
    }

    void begin() override {
        ++settings_.epoch;
        trace_shared set = read_settings();
        set.epoch = settings_.epoch;
        constexpr std::uint32_t first = 0;
        update("shared", &first, &set);
        const trace_order none{}; // whatever was never read of the batch before is not waited for
        update("order", &first, &none);
        const trace_noted nothing{};
        update("noted", &first, &nothing);
    }

    void add(CounterValues& values) const override {
        KernelTraceTotals totals;
        std::vector<trace_distribution> waits(processors());
        for (std::uint32_t i = 0; i < TRACE_WAITS; ++i) {
            read("waits", i, waits.data());
            totals.add_wait(i, waits, settings_.epoch);
        }
        std::vector<trace_counts> counts(processors());
        read("counts", 0, counts.data());
        totals.add_counts(counts);
        totals.missed = object_.missed();
        totals.write(values);
    }

    [[nodiscard]] KernelEvents events() const override {
        trace_noted noted{};
        read("noted", 0, &noted);
        KernelEvents found;
        const auto kept =
            static_cast<std::uint32_t>(std::min<unsigned long long>(noted.count, TRACE_EVENTS));
        found.lost = noted.count - kept;
        found.kept.reserve(kept);
        for (std::uint32_t i = 0; i < kept; ++i) {
            trace_event one{};
            read("events", i, &one);
            found.kept.push_back(as_event(one));
        }
        return found;
    }

private:
    [[nodiscard]] std::size_t processors() const {
        return static_cast<std::size_t>(std::max(processors_, 1));
    }

    [[nodiscard]] trace_shared read_settings() const {
        trace_shared set{};
        read("shared", 0, &set);
        return set;
    }

    void read(const char* name, std::uint32_t key, void* value) const {
        if (bpf_map_lookup_elem(object_.map(name), &key, value) != 0) {
            throw system_failure(std::string("read the eBPF map ") + name);
        }
    }

    void update(const char* name, const void* key, const void* value) const {
        if (bpf_map_update_elem(object_.map(name), key, value, BPF_ANY) != 0) {
            throw system_failure(std::string("write the eBPF map ") + name);
        }
    }

    Object object_;
    int processors_;
    trace_shared settings_{};
};

KernelTraceMissing refused(int error) { return {"refused", std::string(std::strerror(error))}; }

} // namespace

std::unique_ptr<KernelTrace> load_kernel_trace(KernelTraceMissing& missing) {
    if (::access(btf_file, R_OK) != 0) {
        missing = {"no_btf", std::string(btf_file) + ": " + std::strerror(errno)};
        return nullptr;
    }
    if (!may_trace()) {
        missing = {"capability", "CAP_BPF and CAP_PERFMON are missing"};
        return nullptr;
    }
    int error = 0;
    Object object = Object::load(error);
    if (object) {
        error = object.tell_own_number();
    }
    if (object && error == 0) {
        error = object.attach();
    }
    if (error != 0) {
        missing = refused(error);
        return nullptr;
    }
    return std::make_unique<LoadedKernelTrace>(std::move(object));
}

} // namespace sonde
