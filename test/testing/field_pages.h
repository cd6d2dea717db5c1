// What descriptions of fields (support/fields.h) say to others than our readers: JSON schemas, and tables of pages.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "partitiontuner/support/fields.h"

namespace pt::testing {

// The schema (JSON Schema, draft 7) of an object whose fields are visited by fields(visitor).
Json SchemaBy(const std::function<void(FieldVisitor&)>& fields);
// As a file: what fits in 120 columns on one line.
std::string SchemaText(const Json& schema);

// The highest version that a field of the schema is said to be there since ("1.7"); empty where none says it.
std::string LatestSince(const Json& schema);

// A table of the object at `path` ("steps[]", "made_for.model"; empty = the whole). Objects within are shown with
// their fields, unless they are lists of objects or among `elsewhere`, which have tables of their own.
std::string FieldTable(const Json& schema, const std::string& path, const std::vector<std::string>& elsewhere);

// The page with each table between <!-- fields: NAME PATH --> and <!-- end --> made anew; `schema_of` finds the schema
// by its name.
std::string RenewedPage(const std::string& page, const std::function<const Json&(const std::string&)>& schema_of);

}  // namespace pt::testing
