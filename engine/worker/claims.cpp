#include "worker/claims.hpp"

#include <algorithm>
#include <string>

#include "core/failure.hpp"

namespace sonde {

using nlohmann::json;

json answer_claim(Request& request, std::unique_ptr<Exclusion>& claimed) {
    const std::string what = request.fields.text("what", most_claim_bytes);
    const std::string folder = request.fields.optional_text("folder", 4096).value_or("/tmp");
    const bool beside = request.fields.flag("beside", false);
    request.fields.finish();
    if (std::any_of(what.begin(), what.end(), [](char c) { return c < ' ' || c > '~'; })) {
        throw Failure("bad_request", "request: what is no text of printable ASCII");
    }
    if (!claimed) {
        claimed = std::make_unique<Exclusion>(folder);
    }
    const std::string holder = claimed->claim(what);
    if (!holder.empty() && beside) {
        claimed->measure_beside(what);
    }
    return {{"holder", holder}};
}

json answer_release(Request& request, std::unique_ptr<Exclusion>& claimed) {
    request.fields.finish();
    if (!claimed) {
        throw Failure("bad_request", "release comes after claim");
    }
    return {{"beside", claimed->release()}};
}

} // namespace sonde
