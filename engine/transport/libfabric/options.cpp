#include "transport/libfabric/options.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr std::size_t most_provider_characters = 64;
constexpr std::size_t most_address_characters = 64;
constexpr std::int64_t least_post_bytes = 64;
constexpr std::int64_t most_post_bytes = 1LL << 30U;
constexpr std::int64_t most_cpu = 4095;

template <class Value, std::size_t size>
Value read_word(Fields& fields, const std::string& name,
                const std::array<std::pair<std::string_view, Value>, size>& words,
                std::string_view usual) {
    const std::string given = fields.optional_text(name, 16).value_or(std::string(usual));
    std::string known;
    for (const auto& [word, value] : words) {
        if (given == word) {
            return value;
        }
        known += (known.empty() ? "" : ", ") + std::string(word);
    }
    throw Failure("bad_request",
                  "request.options: " + name + " is " + given + ", expected one of " + known);
}

constexpr std::array<std::pair<std::string_view, EndpointKind>, 3> endpoints{
    {{"msg", EndpointKind::msg}, {"rdm", EndpointKind::rdm}, {"dgram", EndpointKind::dgram}}};
constexpr std::array<std::pair<std::string_view, FabricOperation>, 4> operations{
    {{"send", FabricOperation::send},
     {"write", FabricOperation::write},
     {"read", FabricOperation::read},
     {"atomic", FabricOperation::atomic}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> waits{
    {{"block", false}, {"spin", true}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> memories{
    {{"registered", false}, {"fresh", true}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> completions{
    {{"target", true}, {"origin", false}}};

constexpr std::array<std::pair<std::string_view, std::optional<Trespass>>, 5> trespasses{
    {{"none", std::nullopt},
     {"foreign-write", Trespass::foreign_write},
     {"foreign-read", Trespass::foreign_read},
     {"beyond-write", Trespass::beyond_write},
     {"released-read", Trespass::released_read}}};

std::optional<std::string> read_provider(Fields& fields) {
    auto name = fields.optional_text("provider", most_provider_characters);
    const auto is_of_names = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == ';';
    };
    if (name && (name->empty() || !std::ranges::all_of(*name, is_of_names))) {
        throw Failure("bad_request", "request.options: provider is no name such as tcp or "
                                     "verbs;ofi_rxm");
    }
    return name;
}

void require_possible(const FabricOptions& options) {
    const bool sends = options.operation == FabricOperation::send;
    const bool writes = options.operation == FabricOperation::write;
    const auto refuse = [](bool broken, const char* why) {
        if (broken) {
            throw Failure("bad_request", "request.options: " + std::string(why));
        }
    };
    refuse(options.endpoint == EndpointKind::dgram && !sends,
           "endpoint dgram carries operation send only");
    refuse(options.endpoint == EndpointKind::dgram && (options.segmented || options.fresh),
           "endpoint dgram goes neither with segmented nor with memory fresh");
    refuse(options.inject && !(sends || (writes && options.at_target)),
           "inject goes with operation send, and with write that is complete at the target");
    refuse(options.inject && (options.fresh || options.segmented || options.parts > 1),
           "inject goes neither with memory fresh, nor with segmented or parts");
    refuse(options.parts > 1 && !sends, "parts go with operation send");
    refuse(options.segmented && !sends, "segmented goes with operation send");
    refuse(options.trespass && sends, "trespass needs an operation on the other end's memory");
    refuse(!options.at_target && !writes, "completion origin goes with operation write");
}

} // namespace

FabricOptions read_fabric_options(Fields& request) {
    Fields fields = request.object("options");
    FabricOptions options;
    options.provider = read_provider(fields);
    options.endpoint = read_word(fields, "endpoint", endpoints, "rdm");
    options.operation = read_word(fields, "operation", operations, "send");
    options.inject = fields.flag("inject", false);
    options.spin = read_word(fields, "wait", waits, "block");
    options.fresh = read_word(fields, "memory", memories, "registered");
    options.segmented = fields.flag("segmented", false);
    options.parts = static_cast<std::size_t>(
        fields.optional_integer("parts", 1, static_cast<std::int64_t>(most_parts)).value_or(1));
    if (const auto most =
            fields.optional_integer("most_post_bytes", least_post_bytes, most_post_bytes)) {
        options.most_post_bytes = static_cast<std::size_t>(*most);
    }
    options.at_target = read_word(fields, "completion", completions, "target");
    options.trespass = read_word(fields, "trespass", trespasses, "none");
    options.source_address = fields.optional_text("source_address", most_address_characters);
    options.kernel_trace = fields.flag("depth", false);
    if (const auto cpu = fields.optional_integer("cpu", 0, most_cpu)) {
        options.cpu = static_cast<int>(*cpu);
    }
    fields.finish();
    require_possible(options);
    return options;
}

bool is_one_sided(const FabricOptions& options) noexcept {
    return options.operation == FabricOperation::read ||
           options.operation == FabricOperation::atomic ||
           (options.operation == FabricOperation::write && !options.at_target);
}

} // namespace sonde
