#include "tracer/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/failure.hpp"
#include "tracer/kinds.hpp"

namespace sonde {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t files_kept = 64; // whoever begins to read at the end reads one of them
constexpr std::int64_t least_file_bytes = std::int64_t{128} << 10U;
constexpr std::size_t most_names = std::size_t{1} << 17U; // of a file: interfaces may come and go
constexpr std::size_t most_notes = 64;
constexpr std::size_t most_note_characters = 400;

void append(std::string& text, std::int64_t value) {
    std::array<char, 24> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text.append(digits.data(), error == std::errc{} ? end : digits.data());
}

std::string file_name(std::int64_t number) {
    std::array<char, 40> name{};
    std::snprintf(name.data(), name.size(), "trace-%06lld.log", static_cast<long long>(number));
    return name.data();
}

// A name must not end its line or its word early.
std::string one_word(std::string_view name) {
    std::string word(name);
    std::ranges::replace_if(
        word, [](unsigned char c) { return c <= ' ' || c == 127; }, '_');
    return word;
}

std::string one_line(std::string_view text) {
    std::string line(text.substr(0, most_note_characters));
    std::ranges::replace_if(
        line, [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
    return line;
}

} // namespace

void SampleText::write_change(std::string& line, Entry& entry, bool present, std::int64_t value) {
    if (!present) {
        if (entry.is_present) {
            line += ' ';
            append(line, entry.index);
            line += '!';
            entry.is_next_present = false;
            changed_.push_back(&entry);
        }
        return;
    }
    if (entry.is_present && entry.value == value) {
        return;
    }
    line += ' ';
    append(line, entry.index);
    // Of 64 bits without sign: the difference is right across the end, too.
    const auto change = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) -
                                                  static_cast<std::uint64_t>(entry.value));
    if (!entry.is_present) {
        line += '=';
        append(line, value);
    } else {
        line += change >= 0 ? "+" : "";
        append(line, change);
    }
    entry.next_value = value;
    entry.is_next_present = true;
    changed_.push_back(&entry);
}

std::string SampleText::lines(std::string_view head, const CounterValues& values) {
    std::string text;
    std::string line(head);
    changed_.clear();
    auto known = entries_.begin();
    for (const auto& [name, value] : values) {
        while (known != entries_.end() && known->first < name) {
            write_change(line, known->second, false, 0);
            ++known;
        }
        if (known == entries_.end() || known->first != name) {
            known = entries_.try_emplace(known, name);
            known->second.index = static_cast<std::int64_t>(entries_.size()) - 1;
        }
        if (!known->second.is_named) {
            const CounterMeaning meaning = meaning_of(name);
            text += "N ";
            append(text, known->second.index);
            text += ' ';
            text += static_cast<char>(meaning.kind);
            text += meaning.starts_at_zero ? "0 " : " ";
            text += meaning.unit;
            text += ' ';
            text += one_word(name);
            text += '\n';
        }
        write_change(line, known->second, true, value);
        ++known;
    }
    for (; known != entries_.end(); ++known) {
        write_change(line, known->second, false, 0);
    }
    text += line;
    text += '\n';
    return text;
}

void SampleText::commit() {
    for (Entry* entry : changed_) {
        entry->is_named = true;
        entry->is_present = entry->is_next_present;
        entry->value = entry->next_value;
    }
    changed_.clear();
}

void SampleText::restart() {
    changed_.clear();
    entries_.clear();
}

Journal::Journal(JournalSettings settings)
    : settings_(std::move(settings)),
      most_file_bytes_(std::max(least_file_bytes, settings_.most_bytes / files_kept)) {
    take_folder();
    begin_file();
    if (!file_) {
        throw Failure("system", problem_);
    }
}

void Journal::take_folder() {
    std::error_code error;
    fs::create_directories(settings_.folder, error);
    const std::string path = (settings_.folder / pid_file).string();
    lock_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!lock_) {
        throw system_failure("write in " + settings_.folder.string());
    }
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
        throw Failure("bad_request", "a trace is being written in " + settings_.folder.string() +
                                         "; choose another folder");
    }
    for (const auto& entry : fs::directory_iterator(settings_.folder, error)) {
        if (entry.path().filename().string().starts_with("trace-")) {
            throw Failure("bad_request", settings_.folder.string() +
                                             " holds a trace already; choose another folder");
        }
    }
    const std::string pid = std::to_string(::getpid()) + "\n";
    if (::ftruncate(lock_.get(), 0) != 0 ||
        ::pwrite(lock_.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
        throw system_failure("write " + path);
    }
}

void Journal::begin_file() {
    const std::string path = (settings_.folder / file_name(file_number_ + 1)).string();
    Descriptor next(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
    if (!next) {
        problem_ = system_failure("write " + path).what();
        return; // the file before goes on
    }
    if (file_) {
        ::fdatasync(file_.get());
        earlier_[file_number_] = file_bytes_;
    }
    ++file_number_;
    file_ = std::move(next);
    file_bytes_ = 0;
    remove_oldest();
    nlohmann::json about = settings_.about;
    about["file"] = file_number_;
    std::string head = "netsonde-trace 1 " +
                       about.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    for (const std::string& note : notes_) {
        head += note;
    }
    text_.restart();
    if (!write(head)) { // without its head it is none: the next sample tries again
        ::unlink(path.c_str());
        --file_number_;
        file_.reset();
    }
}

void Journal::remove_oldest() {
    std::int64_t bytes = most_file_bytes_; // what the new file may come to
    for (const auto& [number, size] : earlier_) {
        bytes += size;
    }
    while (!earlier_.empty() && bytes > settings_.most_bytes) {
        const auto [number, size] = *earlier_.begin();
        ::unlink((settings_.folder / file_name(number)).c_str());
        bytes -= size;
        earlier_.erase(earlier_.begin());
    }
}

bool Journal::sample(std::int64_t number, std::int64_t late_ns, std::int64_t cost_ns,
                     const CounterValues& values) {
    std::string head = "S ";
    for (const std::int64_t value : {number, late_ns, cost_ns}) {
        append(head, value);
        head += ' ';
    }
    head.pop_back();
    return write_sample(head, values);
}

bool Journal::boundary(std::string_view label, std::int64_t since_begin_ns, std::int64_t cost_ns,
                       const CounterValues& values) {
    std::string head = "B " + one_word(label) + " ";
    append(head, since_begin_ns);
    head += ' ';
    append(head, cost_ns);
    return write_sample(head, values);
}

bool Journal::write_sample(std::string_view head, const CounterValues& values) {
    if (!file_ || file_bytes_ >= most_file_bytes_ || text_.names() >= most_names) {
        begin_file();
    }
    if (!file_ || !write(text_.lines(head, values))) {
        ++lost_;
        return false;
    }
    text_.commit();
    return true;
}

void Journal::missing(std::string_view part, std::string_view why) {
    std::string line = "M " + one_word(part) + " " + one_line(why) + "\n";
    if (notes_.size() < most_notes) {
        notes_.push_back(line);
    }
    write(line);
}

void Journal::end(std::string_view reason, std::int64_t samples, std::int64_t missed) {
    std::string line = "E ";
    for (const std::int64_t value : {samples, missed, lost_}) {
        append(line, value);
        line += ' ';
    }
    write(line + one_line(reason) + "\n");
    if (file_) {
        ::fdatasync(file_.get());
    }
}

// One call for whole lines, so that a kill leaves whole lines; what a full disk took of them is cut
// off again.
bool Journal::write(std::string_view text) {
    if (!file_) {
        return false;
    }
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t written = ::write(file_.get(), text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            problem_ = system_failure("write the trace in " + settings_.folder.string(),
                                      written == 0 ? ENOSPC : errno)
                           .what();
            if (::ftruncate(file_.get(), file_bytes_) != 0) {
                file_.reset(); // its last line stays cut; the next sample begins a new file
                earlier_[file_number_] = file_bytes_;
            }
            return false;
        }
        done += static_cast<std::size_t>(written);
    }
    file_bytes_ += static_cast<std::int64_t>(text.size());
    return true;
}

} // namespace sonde
