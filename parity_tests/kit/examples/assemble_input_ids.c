/* assemble_input_ids for the conformance kit, as a program of its own:
 *
 *     cc -O2 -o assemble assemble_input_ids.c
 *     pytest --pyargs parity_tests.suite --impl assemble_input_ids=proc:./assemble
 *
 * A call is a line of JSON on stdin, its answer a line on stdout. The kit writes no spaces and keeps to one order of
 * keys (request.schema.json), so a scanner is enough to read it.
 */
#define _POSIX_C_SOURCE 200809L /* getline */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 2 };

typedef struct {
    int32_t *data;
    int64_t shape[MAX_RANK];
} array;

/* The operation itself. All that follows is the protocol. */
static void assemble_input_ids(const int32_t *cu_seqlens_q, const int32_t *anchor_token_ids,
                               const int32_t *draft_token_ids, int64_t rows, int64_t drafts, int64_t capacity,
                               int32_t *out) {
    for (int64_t position = 0; position < capacity; position++)
        out[position] = 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t start = cu_seqlens_q[row], end = cu_seqlens_q[row + 1];
        for (int64_t position = start < 0 ? 0 : start; position < end && position < capacity; position++) {
            int64_t offset = position - start;
            if (offset == 0)
                out[position] = anchor_token_ids[row];
            else if (offset <= drafts)
                out[position] = draft_token_ids[row * drafts + offset - 1];
        }
    }
}

static bool skip(const char **text, const char *expected) {
    size_t length = strlen(expected);
    if (strncmp(*text, expected, length) != 0)
        return false;
    *text += length;
    return true;
}

static bool read_integer(const char **text, int64_t *value) {
    char *end;
    *value = strtoll(*text, &end, 10);
    bool is_integer = end != *text && strchr(",]}", *end) != NULL;
    *text = end;
    return is_integer;
}

/* Reads `"name":{"dtype":"int32","shape":[...],"data":[...]}`; false for anything else, which the caller refuses. */
static bool read_array(const char *line, const char *name, int rank, array *into) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":{\"dtype\":\"int32\",\"shape\":[", name);
    const char *text = strstr(line, key);
    if (text == NULL)
        return false;
    text += strlen(key);
    int64_t size = 1;
    for (int axis = 0; axis < rank; axis++) {
        if ((axis > 0 && !skip(&text, ",")) || !read_integer(&text, &into->shape[axis]))
            return false;
        size *= into->shape[axis];
    }
    if (!skip(&text, "],\"data\":["))
        return false;
    into->data = malloc((size_t)(size + 1) * sizeof *into->data);
    for (int64_t i = 0; i < size; i++) {
        int64_t value;
        if ((i > 0 && !skip(&text, ",")) || !read_integer(&text, &value))
            return false;
        into->data[i] = (int32_t)value;
    }
    return skip(&text, "]}");
}

static bool read_capacity(const char *line, int64_t *capacity) {
    const char *text = strstr(line, "\"static\":{\"capacity\":");
    return text != NULL && skip(&text, "\"static\":{\"capacity\":") && read_integer(&text, capacity) &&
           *capacity >= 0 && *capacity <= INT32_MAX;
}

static void refuse(const char *argument, const char *expected) {
    printf("{\"error\":\"ValueError\",\"message\":\"`%s`: expected %s\"}\n", argument, expected);
}

static void answer(const char *line) {
    array cu_seqlens_q = {0}, anchor_token_ids = {0}, draft_token_ids = {0};
    int64_t capacity;
    if (strstr(line, "\"op\":\"assemble_input_ids\"") == NULL) {
        printf("{\"unsupported\":\"this program assembles input_ids\"}\n");
    } else if (!read_capacity(line, &capacity)) {
        refuse("capacity", "an int32 of at least 0");
    } else if (!read_array(line, "cu_seqlens_q", 1, &cu_seqlens_q)) {
        refuse("cu_seqlens_q", "int32[B + 1]");
    } else if (!read_array(line, "anchor_token_ids", 1, &anchor_token_ids)) {
        refuse("anchor_token_ids", "int32[B]");
    } else if (!read_array(line, "draft_token_ids", 2, &draft_token_ids)) {
        refuse("draft_token_ids", "int32[B, K]");
    } else if (cu_seqlens_q.shape[0] != anchor_token_ids.shape[0] + 1) {
        refuse("cu_seqlens_q", "an entry more than `anchor_token_ids` has");
    } else if (draft_token_ids.shape[0] != anchor_token_ids.shape[0]) {
        refuse("draft_token_ids", "as many rows as `anchor_token_ids` has");
    } else {
        int32_t *out = malloc((size_t)(capacity + 1) * sizeof *out);
        assemble_input_ids(cu_seqlens_q.data, anchor_token_ids.data, draft_token_ids.data, anchor_token_ids.shape[0],
                           draft_token_ids.shape[1], capacity, out);
        printf("{\"expected\":{\"out\":{\"dtype\":\"int32\",\"shape\":[%lld],\"data\":[", (long long)capacity);
        for (int64_t position = 0; position < capacity; position++)
            printf("%s%d", position > 0 ? "," : "", out[position]);
        printf("]}}}\n");
        free(out);
    }
    free(cu_seqlens_q.data);
    free(anchor_token_ids.data);
    free(draft_token_ids.data);
}

int main(void) {
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        answer(line);
        fflush(stdout);
    }
    free(line);
    return 0;
}
