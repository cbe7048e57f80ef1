// A daemon of PVM that this worker starts, and ends with itself.
//
// The first one of a virtual machine asks on its standard error for each further host ("manual
// startup"): what to type there, and what was answered. So whoever reaches the hosts starts the
// daemons, by whatever launcher, and PVM needs no rsh.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/descriptor.hpp"
#include "transport/pvm/cleaner.hpp"

namespace sonde::pvm {

// Until when, and unless what, something is awaited.
struct Patience {
    std::int64_t until_ns; // of the monotonic clock
    const std::atomic<bool>& interrupted;
};

class Daemon {
public:
    // The daemon of this host, at that address, in a folder of its own; it asks for the others.
    static Daemon first(const Cleaner& cleaner, const std::string& address,
                        std::span<const std::string> others);
    // A further one, with the arguments that the first one asks for.
    static Daemon further(const Cleaner& cleaner, const std::string& arguments);
    ~Daemon();
    Daemon(Daemon&& other) noexcept;
    Daemon& operator=(Daemon&&) = delete;
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
    [[nodiscard]] pid_t process() const noexcept { return process_; }

    // The first one is there when it has said so. These throw Failure where that does not come in
    // time, with what it did say.
    void await_ready(const Patience& patience);
    // The arguments of the next further daemon.
    [[nodiscard]] std::string await_question(const Patience& patience);
    // What a further one tells the first.
    [[nodiscard]] std::string await_introduction(const Patience& patience);
    void answer(const std::string& introduction, const Patience& patience);

    // All tasks are in: nobody needs the names of its files any more, so that none are left
    // whatever becomes of it.
    void remove_files() const noexcept;
    // How it ended: "was killed by signal 9"; none while it runs.
    [[nodiscard]] std::optional<std::string> ended();
    // Whether it ended since its machine did: what it is told when another host gave up.
    [[nodiscard]] bool was_halted() const noexcept { return halted_; }
    // The CPU time and the memory that it has taken: pvm.daemon_cpu_ns, pvm.daemon_resident_bytes.
    [[nodiscard]] std::map<std::string, std::int64_t> counters() const;

private:
    explicit Daemon(const Cleaner& cleaner);
    void start(const Cleaner& cleaner, std::span<const std::string> words);
    // The next line of what it writes that is so. Throws Failure.
    template <class Is>
    std::string await_line(const Patience& patience, std::string_view what, Is is);
    void read_more(const Patience& patience, std::string_view what);
    [[nodiscard]] std::string last_words() const;

    std::string folder_;
    Descriptor held_; // the folder
    std::string program_;
    Descriptor input_;
    Descriptor output_;
    pid_t process_ = -1;
    std::string written_;   // what it wrote and nobody has taken yet
    std::string last_line_; // not empty
    std::string ended_;
    bool halted_ = false;
};

} // namespace sonde::pvm
