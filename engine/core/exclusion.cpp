#include "core/exclusion.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr mode_t everybody = 0666;

// Of whatever user, and no link to somewhere else. Opened before it is made: a file of another user
// in such a folder may not be asked for with O_CREAT (fs.protected_regular).
Descriptor open_shared(const std::string& path) {
    constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    for (const int tried : {flags, flags | O_CREAT | O_EXCL, flags}) {
        Descriptor found(::open(path.c_str(), tried, everybody));
        if (!found) {
            continue;
        }
        if ((tried & O_CREAT) != 0) {
            static_cast<void>(::fchmod(found.get(), everybody)); // whatever the mask of this user
        }
        struct stat facts {};
        if (::fstat(found.get(), &facts) == 0 && S_ISREG(facts.st_mode)) {
            return found;
        }
        throw Failure("system", path + " is no file");
    }
    throw Failure("system", "cannot open " + path + ": " + std::strerror(errno));
}

bool locks(const Descriptor& file, int how) { return ::flock(file.get(), how | LOCK_NB) == 0; }

void write_text(const Descriptor& file, const std::string& text) {
    const std::string cut = text.substr(0, most_claim_bytes);
    // Where it cannot be written (a full disk) others learn of the lock, not of who has it.
    static_cast<void>(::ftruncate(file.get(), 0));
    static_cast<void>(::pwrite(file.get(), cut.data(), cut.size(), 0));
}

// Written by whoever it was, so only what a terminal can show.
std::string read_text(const Descriptor& file) {
    std::array<char, most_claim_bytes> buffer{};
    const ssize_t count = ::pread(file.get(), buffer.data(), buffer.size(), 0);
    std::string text(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, ' ');
    return text.empty() ? "another measurement" : text;
}

std::int64_t written_at_ns(const Descriptor& file) {
    struct stat facts {};
    ::fstat(file.get(), &facts);
    return facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

} // namespace

Exclusion::Exclusion(const std::string& folder)
    : owner_(open_shared(folder + "/netsonde-measures")),
      beside_(open_shared(folder + "/netsonde-measures-beside")) {}

std::string Exclusion::claim(const std::string& what) {
    if (!locks(owner_, LOCK_EX)) {
        return read_text(owner_);
    }
    write_text(owner_, what);
    has_host_ = true;
    beside_written_at_ns_ = written_at_ns(beside_);
    return "";
}

void Exclusion::measure_beside(const std::string& what) {
    static_cast<void>(locks(beside_, LOCK_SH));
    write_text(beside_, what);
    is_beside_ = true;
}

std::string Exclusion::release() {
    std::string who;
    if (has_host_) {
        const bool is_now = !locks(beside_, LOCK_EX);
        if (is_now || written_at_ns(beside_) != beside_written_at_ns_) {
            who = read_text(beside_);
        }
        static_cast<void>(::flock(owner_.get(), LOCK_UN));
        has_host_ = false;
    }
    if (is_beside_) {
        write_text(beside_, read_text(beside_)); // the time of its end
        is_beside_ = false;
    }
    static_cast<void>(::flock(beside_.get(), LOCK_UN));
    return who;
}

} // namespace sonde
