#include "postgres/connect/quote.h"

namespace walpost {

std::string QuoteQualifiedName(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return QuoteName(name);
  return QuoteName(name.substr(0, dot)) + "." + QuoteName(name.substr(dot + 1));
}

}  // namespace walpost
