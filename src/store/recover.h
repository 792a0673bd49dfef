// The database of a recording that was cut off.
#pragma once

#include <memory>
#include <string>

#include "store/container.h"

namespace flowscope::store {

// Bytes of the folder's database as it was last committed. Where a log stands beside it, the log is
// worked in in a private copy: the folder itself is only read.
Result<Member> ReadDatabase(const std::string& folder);

// Brings the committed part of the log into the database, which then needs none. Errors call it
// `shown`; under another name it is a copy, for which the disk is not waited for.
Status WorkLogIn(const std::string& database, const std::string& shown);

}  // namespace flowscope::store
