#include "transport/pvm/library.hpp"

#include <pvm3.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "core/failure.hpp"
#include "transport/pvm/environment.hpp"

namespace sonde::pvm {
namespace {

struct Reason {
    int code;
    const char* failure; // its code
    const char* words;
};

constexpr std::array reasons{
    Reason{PvmSysErr, "system", "the daemon of PVM on this host does not answer (any more)"},
    Reason{PvmHostFail, "peer_lost", "the other host is no part of the virtual machine any more"},
    Reason{PvmNoTask, "peer_lost", "there is no such task in the virtual machine"},
    Reason{PvmNoMem, "no_memory", "there is not enough memory"},
    Reason{PvmNoData, "data_corrupt", "the message has less in it than was to be unpacked"},
    Reason{PvmMismatch, "data_corrupt", "the message has something else in it"},
    Reason{PvmBadMsg, "data_corrupt",
           "the message is in a format that this host cannot read; encode it as default"},
    Reason{PvmBadVersion, "system", "library and daemon of PVM are of two versions"},
    Reason{PvmDupHost, "system", "a daemon of PVM has its files there already"},
};

} // namespace

int checked(int result, std::string_view doing) {
    if (result >= 0) {
        return result;
    }
    const std::string begin = "cannot " + std::string(doing) + ": ";
    for (const Reason& reason : reasons) {
        if (reason.code == result) {
            throw Failure(reason.failure, begin + reason.words);
        }
    }
    throw Failure("system", begin + "PVM says error " + std::to_string(result));
}

Enrolment::Enrolment(const std::string& folder)
    : task_((use_folder(folder), checked(::pvm_mytid(), "enrol in the virtual machine"))) {
    checked(::pvm_setopt(PvmAutoErr, 0), "keep PVM from writing its errors");
}

Enrolment::~Enrolment() { ::pvm_exit(); }

int Enrolment::hosts() {
    int hosts = 0;
    checked(::pvm_config(&hosts, nullptr, nullptr), "ask which hosts the virtual machine has");
    return hosts;
}

std::string task_in_words(int task) {
    std::array<char, 16> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(),
                                            static_cast<unsigned>(task), 16);
    return error == std::errc{} ? "t" + std::string(digits.data(), end) : "t?";
}

int task_of_words(const std::string& words) {
    unsigned task = 0;
    const char* const begin = words.data() + (words.starts_with('t') ? 1 : 0);
    const char* const end = words.data() + words.size();
    const auto [stop, error] = std::from_chars(begin, end, task, 16);
    if (!words.starts_with('t') || error != std::errc{} || stop != end || task == 0) {
        throw Failure("bad_request", "request: task is " + words + ", expected one like t40001");
    }
    return static_cast<int>(task);
}

std::string version() { return ::pvm_version(); }

} // namespace sonde::pvm
