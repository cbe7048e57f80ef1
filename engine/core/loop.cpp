#include "core/loop.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <new>
#include <optional>

#include "core/failure.hpp"

namespace sonde {
namespace {

class LineReader {
public:
    LineReader(int fd, int signal_fd) : fd_(fd), signal_fd_(signal_fd) {}

    [[nodiscard]] bool signalled() const noexcept { return signalled_; }

    // The next line, or nothing at end of input. A line over the limit is cut and marked.
    std::optional<std::string> next(bool& too_long) {
        too_long = false;
        std::string line;
        while (true) {
            if (begin_ == end_ && !fill()) {
                return line.empty() || signalled_ ? std::nullopt : std::optional(line);
            }
            const char c = buffer_[begin_++];
            if (c == '\n') {
                return line;
            }
            if (line.size() < request_line_limit_bytes) {
                line.push_back(c);
            } else {
                too_long = true;
            }
        }
    }

private:
    bool fill() {
        std::array<pollfd, 2> fds{pollfd{fd_, POLLIN, 0}, pollfd{signal_fd_, POLLIN, 0}};
        ssize_t got = 0;
        do {
            ::poll(fds.data(), fds.size(), -1);
            if (fds[1].revents != 0) {
                signalled_ = true;
                return false;
            }
            got = ::read(fd_, buffer_.data(), buffer_.size());
        } while (got < 0 && errno == EINTR);
        begin_ = 0;
        end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
        return got > 0;
    }

    int fd_;
    int signal_fd_;
    bool signalled_ = false;
    std::string buffer_ = std::string(16384, '\0');
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

void answer(const std::string& line, bool too_long, RecordWriter& records,
            const std::map<std::string, Handler>& handlers, bool& quit) {
    std::int64_t id = 0;
    try {
        if (too_long) {
            throw Failure("limit", "a request line is longer than " +
                                       std::to_string(request_line_limit_bytes) + " bytes");
        }
        Request request = parse_request(line, id);
        if (request.verb == "quit") {
            request.fields.finish();
            records.done(id, request.verb);
            quit = true;
            return;
        }
        const auto handler = handlers.find(request.verb);
        if (handler == handlers.end()) {
            throw Failure("bad_request", "unknown verb " + request.verb);
        }
        const auto values = handler->second(request);
        records.done(id, request.verb, values);
    } catch (const Failure& failure) {
        records.error(id, failure.code(), failure.what());
    } catch (const std::bad_alloc&) {
        records.error(id, "no_memory", "not enough memory for this request");
    } catch (const std::exception& error) {
        records.error(id, "system", error.what());
    }
}

} // namespace

void serve_requests(int fd, RecordWriter& records, const std::map<std::string, Handler>& handlers,
                    int signal_fd) {
    LineReader reader(fd, signal_fd);
    bool quit = false;
    bool too_long = false;
    while (!quit) {
        const auto line = reader.next(too_long);
        if (!line) {
            records.bye(reader.signalled() ? "signal" : "stdin_closed");
            return;
        }
        if (!line->empty()) {
            answer(*line, too_long, records, handlers, quit);
        }
    }
    records.bye("quit");
}

} // namespace sonde
