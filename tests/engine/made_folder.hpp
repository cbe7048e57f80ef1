// A folder for one test, gone with it.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace sonde {

class MadeFolder {
public:
    explicit MadeFolder(const std::filesystem::path& in = std::filesystem::temp_directory_path()) {
        std::string pattern = (in / "sonde-test-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    ~MadeFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    MadeFolder(const MadeFolder&) = delete;
    MadeFolder& operator=(const MadeFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

} // namespace sonde
