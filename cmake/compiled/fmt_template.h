// fmt 9 and 10 let every file that formats into a buffer, as each call of
// spdlog does, compile the whole of fmt::format. libfmt has it compiled.
#pragma once

#include <fmt/format.h>

#if FMT_VERSION < 110000
extern template void fmt::detail::vformat_to<char>(
    fmt::detail::buffer<char>&, fmt::basic_string_view<char>,
    fmt::basic_format_args<fmt::format_context>, fmt::detail::locale_ref);
#endif
