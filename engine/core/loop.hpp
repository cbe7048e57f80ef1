// The request loop: lines from a descriptor, a handler per verb, one done or error per request.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/records.hpp"
#include "core/request.hpp"

namespace sonde {

// A handler takes all its fields, calls finish() on them, writes records, and returns the values
// of the `done` record. It throws Failure to answer with `error`.
using Handler = std::function<nlohmann::json(Request&)>;

// Reads until `quit`, end of input, or signal_fd becomes readable (-1: none), then writes `bye`.
// Lines over the limit and lines that are no request are answered with an error.
void serve_requests(int fd, RecordWriter& records, const std::map<std::string, Handler>& handlers,
                    int signal_fd = -1);

} // namespace sonde
