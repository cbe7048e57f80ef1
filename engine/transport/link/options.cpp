#include "transport/link/options.hpp"

#include <array>
#include <string>
#include <utility>

#include "core/failure.hpp"
#include "transport/link/frame.hpp"

namespace sonde {
namespace {

constexpr std::int64_t least_fragment_bytes = 46 - link_header_bytes; // of the shortest frame
constexpr std::int64_t most_cpu = 4095;
constexpr std::int64_t usual_window_packets = 32;
constexpr std::int64_t usual_timeout_ns = 10'000'000;
constexpr std::int64_t least_timeout_ns = 10'000;
constexpr std::int64_t most_timeout_ns = 10'000'000'000;
constexpr std::int64_t answers_a_timeout = 4; // a late answer must come before it runs out

template <class Value>
using Words = std::array<std::pair<std::string_view, Value>, 3>;

constexpr Words<DriverKind> drivers{
    {{"packet", DriverKind::packet}, {"ring", DriverKind::ring}, {"xdp", DriverKind::xdp}}};
constexpr Words<LinkWait> waits{
    {{"spin", LinkWait::spin}, {"block", LinkWait::block}, {"hybrid", LinkWait::hybrid}}};

constexpr Words<protocol::Acknowledge> acknowledges{
    {{"immediate", protocol::Acknowledge::immediate},
     {"delayed", protocol::Acknowledge::delayed},
     {"piggyback", protocol::Acknowledge::piggyback}}};

template <class Value>
Value read_word(Fields& fields, const char* name, const Words<Value>& words, Value usual) {
    const auto given = fields.optional_text(name, 16);
    std::string known;
    for (const auto& [word, value] : words) {
        if (given && *given == word) {
            return value;
        }
        known += (known.empty() ? "" : ", ") + std::string(word);
    }
    if (given) {
        throw Failure("bad_request", "request.options: " + std::string(name) + " is " + *given +
                                         ", expected one of " + known);
    }
    return usual;
}

template <class Value>
std::string_view word_in(const Words<Value>& words, Value wanted) noexcept {
    for (const auto& [word, value] : words) {
        if (value == wanted) {
            return word;
        }
    }
    return "";
}

ChannelRules read_rules(Fields& fields) {
    ChannelRules rules;
    rules.sends.window_packets =
        static_cast<std::uint32_t>(fields.optional_integer("window_packets", 1, most_link_window)
                                       .value_or(usual_window_packets));
    rules.sends.timeout = fields.optional_integer("timeout_ns", least_timeout_ns, most_timeout_ns)
                              .value_or(usual_timeout_ns);
    rules.sends.nacks = !fields.flag("simple_go_back_n", false);
    rules.answers.way =
        read_word(fields, "acknowledge", acknowledges, protocol::Acknowledge::immediate);
    rules.answers.delay = rules.sends.timeout / answers_a_timeout;
    rules.answers.nacks = rules.sends.nacks;
    return rules;
}

void refuse_rules(const Fields& fields) {
    for (const char* const name :
         {"window_packets", "timeout_ns", "simple_go_back_n", "acknowledge"}) {
        if (fields.has(name)) {
            throw Failure("bad_request",
                          "request.options: " + std::string(name) + " goes with reliable");
        }
    }
}

} // namespace

LinkOptions read_link_options(Fields& request, std::string_view name) {
    Fields fields = request.object(name);
    LinkOptions options;
    options.driver = read_word(fields, "driver", drivers, options.driver);
    options.wait = read_word(fields, "wait", waits, options.wait);
    if (const auto bytes =
            fields.optional_integer("fragment_bytes", least_fragment_bytes, most_fragment_bytes)) {
        options.fragment_bytes = static_cast<std::size_t>(*bytes);
    }
    options.source_address = fields.optional_text("source_address", 64);
    if (const auto cpu = fields.optional_integer("cpu", 0, most_cpu)) {
        options.cpu = static_cast<int>(*cpu);
    }
    if (fields.flag("reliable", false)) {
        options.reliable = read_rules(fields);
    } else {
        refuse_rules(fields);
    }
    fields.finish();
    return options;
}

std::string_view word_of(DriverKind driver) noexcept { return word_in(drivers, driver); }
std::string_view word_of(LinkWait wait) noexcept { return word_in(waits, wait); }
std::string_view word_of(protocol::Acknowledge way) noexcept { return word_in(acknowledges, way); }

} // namespace sonde
