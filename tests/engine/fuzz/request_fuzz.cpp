// Lines to a worker: the loop that reads them, and the fields of every verb that reads more than a
// word. What the verbs then do is not done.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "core/descriptor.hpp"
#include "core/loop.hpp"
#include "test/run_parameters.hpp"
#include "transport/socket/address.hpp"
#include "transport/socket/greeting.hpp"
#include "transport/socket/options.hpp"

namespace {

using namespace sonde;
using nlohmann::json;

json read_run(Request& request) {
    (void)read_socket_run_parameters(request.fields);
    request.fields.finish();
    return json::object();
}

void read_address(Fields& fields) {
    const Family family = read_family(fields);
    const std::string address = fields.text("address", 64);
    (void)SocketAddress(family, address,
                        static_cast<std::uint16_t>(fields.integer("port", 1, 65535)));
}

json read_open(Request& request) {
    const bool alone = request.fields.text("role") == "alone";
    const bool stream = alone ? false : request.fields.text("transport") == "tcp";
    if (!alone) {
        (void)parse_cookie(request.fields.text("cookie"));
        (void)take_timeout(request.fields);
    }
    (void)read_socket_options(request.fields, stream);
    read_address(request.fields);
    request.fields.finish();
    return json::object();
}

json read_listen(Request& request) {
    const bool stream = request.fields.text("transport") == "tcp";
    (void)read_family(request.fields);
    (void)parse_cookie(request.fields.text("cookie"));
    (void)read_socket_options(request.fields, stream);
    (void)take_timeout(request.fields);
    return json::object();
}

json read_generate(Request& request) {
    read_address(request.fields);
    (void)read_socket_options(request.fields, false);
    (void)read_socket_run_parameters(request.fields);
    request.fields.finish();
    return json::object();
}

json read_list(Request& request) {
    for (const json& each : request.fields.list("cpus", 65536)) {
        (void)each.is_number_integer();
    }
    (void)request.fields.number("share", 0.0, 1.0, 0.5);
    (void)request.fields.object("options").optional_flag("more");
    return json::object();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Descriptor lines(::memfd_create("lines", MFD_CLOEXEC));
    static const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (::write(lines.get(), data, size) != static_cast<ssize_t>(size)) {
        return -1;
    }
    ::lseek(lines.get(), 0, SEEK_SET);
    RecordWriter records(nowhere.get(), "host", 0);
    serve_requests(lines.get(), records,
                   {{"run", read_run},
                    {"open", read_open},
                    {"listen", read_listen},
                    {"generate", read_generate},
                    {"burn", read_list}});
    return 0;
}
