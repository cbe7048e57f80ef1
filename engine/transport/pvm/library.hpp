// libpvm3, whose calls are checked here.
#pragma once

#include <string>
#include <string_view>

namespace sonde::pvm {

// What a call of the library returned. Throws Failure where that is an error, with what was being
// done: "cannot WHAT: REASON".
int checked(int result, std::string_view doing);

// This process as a task of the virtual machine whose daemon has its files in that folder: it
// enrols, and leaves when this is gone. The library knows one machine in the life of a process.
class Enrolment {
public:
    explicit Enrolment(const std::string& folder);
    ~Enrolment();
    Enrolment(const Enrolment&) = delete;
    Enrolment& operator=(const Enrolment&) = delete;

    [[nodiscard]] int task() const noexcept { return task_; }
    // Hosts that the machine has now.
    [[nodiscard]] static int hosts();

private:
    int task_;
};

// A task's number as PVM's console writes it: t40001.
[[nodiscard]] std::string task_in_words(int task);
// Throws Failure("bad_request").
[[nodiscard]] int task_of_words(const std::string& words);

// The library's version: "3.4.6".
[[nodiscard]] std::string version();

} // namespace sonde::pvm
