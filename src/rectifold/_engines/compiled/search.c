/* Searches of leaves, compiled: the same proofs as in `_engines.exact`, whole blocks at a time.

   Products are (minus) half the squared distances of queries and points, in float32; see
   `_engines.rounding` for the bounds of their error. A function that returns FULL or CROWDED has
   found nothing. */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"

/* Compiled once for each instruction set: names get a suffix, and products are computed in blocks of
   ROWS queries and VECTORS vectors of points, which fill the registers. */
#define JOIN(name, suffix) name##_##suffix
#define SUFFIXED(name, suffix) JOIN(name, suffix)
#define NAME(name) SUFFIXED(name, SUFFIX)
#if defined(__AVX512F__)
enum { WIDTH = 16, VECTORS = 3, ROWS = 8 };
#elif defined(__AVX2__)
enum { WIDTH = 8, VECTORS = 2, ROWS = 6 };
#elif defined(__aarch64__)
enum { WIDTH = 4, VECTORS = 4, ROWS = 6 };
#else
enum { WIDTH = 4, VECTORS = 2, ROWS = 4 };
#endif
#define BLOCK_QUERIES 256
/* A query with more candidates than this, equally near, is left to the caller. */
#define CROWD 65536
/* Queries of a group that make a block, and maximum distances of leaves and queries of others. */
#define FEW 24
#define GRID (1 << 20)
#define NONE INT64_MIN

enum { CERTIFIED = 1, UNDECIDED = 2 };
/* Queries that are compared together: a panel has a column for each. */
typedef struct {
    int64_t n, stride, sketch_stride;
    const float *panel, *sketch, *first;
    const double *squares;
    float *centre, radius;
} Block;

/* A leaf to visit: a lower bound of its distance from a block, and the distance of the centres. */
typedef struct {
    float distance, between;
    int32_t leaf;
} Visit;

typedef struct {
    float value;
    int32_t weight;
    int64_t place;
    /* The squared distance in full precision; negative if it is not known. */
    double exact;
} Entry;

/* Candidates of a query: points whose product reaches `least`. */
typedef struct {
    Entry *entries;
    int64_t n, room, limit, total;
    double bound;
    float least;
    /* Whether rounding is too coarse for the query; and whether it is then compared in coordinates
       of each leaf, by which its entries have distances in full precision. */
    int coarse, local;
} List;

typedef struct {
    Block block;
    float *panel, *sketch, *first, *centre, *products, *own, *distances, *sums, *floats;
    Visit *visits, *others;
    List *lists;
    int32_t *rows, *more, *open, *near, *left, *place;
    int64_t *numbers, *chosen;
    int64_t n_lists, room;
    /* Distances of leaves and queries, a row for each leaf. */
    float *grid, *last;
    int32_t *nearest;
    /* A leaf and queries in coordinates around the leaf, and squared lengths of these queries. */
    float *leaf, *around;
    double *middle, *lengths;
} Space;

static double margin_of(const Frame *frame, double square)
{
    return frame->margin * square + frame->absolute;
}

static double at_most(const Frame *frame, float product, double square)
{
    double apart = -2.0 * product > 0 ? -2.0 * product : 0;
    return (1 + frame->relative) * apart + margin_of(frame, square);
}

static double at_least(const Frame *frame, float product, double square)
{
    double apart = -2.0 * product > 0 ? -2.0 * product : 0;
    return (1 - frame->relative) * apart - margin_of(frame, square);
}

/* The product from which on a point is provably nearer than a squared distance. */
static float certainly(const Frame *frame, double bound, double square)
{
    double apart = (bound - margin_of(frame, square)) / (1 + frame->relative);
    if (!(apart > 0))
        return INFINITY;
    apart = apart < frame->reach ? apart : frame->reach;
    return nextafterf((float)(apart / -2), INFINITY);
}

/* The product below which a point is provably farther; also above all empty slots. */
static float possibly(const Frame *frame, double bound, double square)
{
    double apart = (bound + margin_of(frame, square)) / (1 - frame->relative);
    apart = apart < frame->reach ? apart : frame->reach;
    return nextafterf((float)(apart / -2), -INFINITY);
}

/* The distance in coordinates within which all points of a squared distance lie. */
static float radius(const Frame *frame, double bound, double square)
{
    double most = (1 + frame->relative) * bound + margin_of(frame, square);
    most = most < frame->reach ? most : frame->reach;
    return (float)(sqrt(most) + frame->blur * sqrt(square)) * frame->stretch;
}

/* Keys of floats, in the same order. */
static inline int32_t key_of(float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits ^ ((bits >> 31) & INT32_MAX);
}

static inline float value_of(int32_t key)
{
    float value;
    key ^= (key >> 31) & INT32_MAX;
    memcpy(&value, &key, sizeof value);
    return value;
}

static int nearer(const void *left, const void *right)
{
    const Visit *a = left, *b = right;
    if (a->between != b->between)
        return a->between < b->between ? -1 : 1;
    return (a->leaf > b->leaf) - (a->leaf < b->leaf);
}

static void free_space(Space *space)
{
    if (!space)
        return;
    for (int64_t i = 0; i < space->n_lists; i++)
        free(space->lists[i].entries);
    void *all[] = {space->panel, space->sketch, space->first, space->centre, space->products,
                   space->own, space->grid, space->last, space->distances, space->sums,
                   space->floats, space->visits, space->others, space->lists, space->rows,
                   space->numbers, space->chosen, space->leaf, space->around, space->middle,
                   space->lengths};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(space);
}

/* Memory for blocks of n queries; NULL if there is none. */
static Space *make_space(const Frame *frame, int64_t n)
{
    /* Rows of products come in pairs. */
    const size_t rows = n + 1, stride = n + 32, leaves = frame->n_leaves;
    Space *space = calloc(1, sizeof *space);
    if (!space)
        return NULL;
    int ok = (space->panel = malloc(stride * frame->d * sizeof(float))) != NULL;
    ok &= (space->sketch = malloc((rows * frame->m + 1) * sizeof(float))) != NULL;
    ok &= (space->first = malloc(rows * sizeof(float))) != NULL;
    ok &= (space->centre = malloc((frame->m + 1) * sizeof(float))) != NULL;
    ok &= (space->products = malloc(rows * frame->size * sizeof(float))) != NULL;
    ok &= (space->own = malloc(rows * frame->size * sizeof(float))) != NULL;
    ok &= (space->distances = malloc(leaves * sizeof(float))) != NULL;
    ok &= (space->last = malloc(frame->size * sizeof(float))) != NULL;
    ok &= (space->sums = malloc(rows * sizeof(float))) != NULL;
    ok &= (space->floats = malloc(4 * rows * sizeof(float))) != NULL;
    ok &= (space->visits = malloc(leaves * sizeof(Visit))) != NULL;
    ok &= (space->others = malloc(leaves * sizeof(Visit))) != NULL;
    ok &= (space->lists = calloc(rows, sizeof(List))) != NULL;
    ok &= (space->rows = malloc(7 * rows * sizeof(int32_t))) != NULL;
    ok &= (space->numbers = malloc(2 * rows * sizeof(int64_t))) != NULL;
    ok &= (space->chosen = malloc(leaves * sizeof(int64_t))) != NULL;
    space->room = n;
    space->n_lists = space->lists ? (int64_t)rows : 0;
    if (!ok) {
        free_space(space);
        return NULL;
    }
    space->more = space->rows + rows;
    space->open = space->more + rows;
    space->near = space->open + rows;
    space->left = space->near + rows;
    space->place = space->left + rows;
    space->nearest = space->place + rows;
    space->block.centre = space->centre;
    return space;
}

/* Let a block have the sketch of n queries from `at` on; `sketch` is NULL if that is its panel. */
static void take_sketch(const Frame *frame, Space *space, const float *sketch, int64_t at,
                        int64_t n)
{
    Block *block = &space->block;
    block->sketch = block->panel;
    block->sketch_stride = block->stride;
    if (!sketch)
        return;
    block->sketch = space->sketch;
    block->sketch_stride = n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < frame->m; c++)
            space->sketch[c * n + i] = sketch[(at + i) * frame->m + c];
}

/* Put the next queries into a block, and return their number. Those of a group make a block of their
   own unless they are few; `mixed` is set for several groups. */
static int64_t take_queries(const Frame *frame, Space *space, const Queries *queries, int64_t at,
                            int *mixed)
{
    Block *block = &space->block;
    const int64_t *groups = queries->groups;
    int64_t n = 0, most = GRID / frame->n_leaves, left = queries->n - at;
    most = most > BLOCK_QUERIES ? BLOCK_QUERIES : most < FEW ? FEW : most;
    *mixed = 0;
    while (n < left) {
        int64_t group = 1;
        while (group < BLOCK_QUERIES && n + group < left &&
               groups[at + n + group] == groups[at + n])
            group++;
        if (n && (group >= FEW || n + group > most))
            break;
        *mixed = n > 0;
        n += group;
        if (group >= FEW)
            break;
    }
    block->n = n;
    /* With an odd number of vectors the columns share no set of the cache. */
    block->stride = (n + 15) / 16 * 16 | 16;
    block->panel = space->panel;
    block->first = space->first;
    block->squares = queries->squares + at;
    for (int64_t i = 0; i < n; i++) {
        const float *point = queries->points + (at + i) * frame->d;
        for (int64_t c = 0; c < frame->d; c++)
            space->panel[c * block->stride + i] = point[c];
        space->first[i] = (float)(block->squares[i] / -2);
    }
    take_sketch(frame, space, queries->sketch, at, n);
    return n;
}

static void start_list(const Frame *frame, List *list, double bound, double square)
{
    list->n = list->total = list->coarse = list->local = 0;
    list->limit = 64;
    list->bound = bound;
    list->least = possibly(frame, bound, square);
}

static inline int append(List *list, float value, int64_t place, int32_t weight)
{
    if (list->n == list->room) {
        int64_t room = list->room ? 2 * list->room : 64;
        Entry *more = realloc(list->entries, room * sizeof *more);
        if (!more)
            return 0;
        list->entries = more;
        list->room = room;
    }
    list->entries[list->n++] = (Entry){value, weight, place, -1};
    list->total += weight;
    return 1;
}

/* Add the candidates of a query to what was found. */
static int keep(Found *found, int64_t query, const List *list)
{
    int64_t at = found->offsets[query];
    if (at + list->n > found->room) {
        int64_t room = 2 * (at + list->n) + 1024;
        int64_t *more = realloc(found->places, room * sizeof *more);
        if (!more)
            return 0;
        found->places = more;
        found->room = room;
    }
    for (int64_t i = 0; i < list->n; i++)
        found->places[at + i] = list->entries[i].place;
    found->offsets[query + 1] = at + list->n;
    return 1;
}

typedef float Vector __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

/* Products of queries, columns `rows` of a panel, with vectors of points. The first three arguments
   are known when this is compiled. `last` has a value for each point: minus half its squared length,
   or if `direct`, zero; of an empty slot, one far below all products. */
static inline __attribute__((always_inline)) void multiply(
    const int direct, const int n_rows, const int count, const float *panel, int64_t stride,
    const int32_t *rows, const float *first, const float *points, const float *last, int64_t size,
    int64_t d, float *out)
{
    Vector sums[ROWS][VECTORS];
#pragma GCC unroll 16
    for (int r = 0; r < n_rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < count; v++)
            if (direct)
                sums[r][v] = (Vector){0};
            else
                sums[r][v] = *(const Vector *)(last + v * WIDTH) + first[rows[r]];
    for (int64_t c = 0; c < d; c++) {
        const float *left = panel + c * stride, *right = points + c * size;
        Vector values[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < count; v++)
            values[v] = *(const Vector *)(right + v * WIDTH);
#pragma GCC unroll 16
        for (int r = 0; r < n_rows; r++) {
            const float factor = left[rows[r]];
#pragma GCC unroll 4
            for (int v = 0; v < count; v++)
                if (direct) {
                    Vector gap = values[v] - factor;
                    sums[r][v] += gap * gap;
                }
                else
                    sums[r][v] += factor * values[v];
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < n_rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < count; v++)
            if (direct)
                *(Vector *)(out + r * size + v * WIDTH) =
                    *(const Vector *)(last + v * WIDTH) - 0.5f * sums[r][v];
            else
                *(Vector *)(out + r * size + v * WIDTH) = sums[r][v];
}

static inline __attribute__((always_inline)) void multiply_all(
    const int direct, const Frame *frame, const Block *block, const int32_t *rows, int64_t n,
    const float *points, const float *last, float *out)
{
    const int64_t size = frame->size;
    for (int64_t at = 0, count; at < size; at += WIDTH * count) {
        const int64_t left = (size - at) / WIDTH;
        count = left >= VECTORS ? VECTORS : left >= 2 ? 2 : 1;
        for (int64_t r = 0, step; r < n; r += step) {
            step = n - r >= ROWS ? ROWS : 2;
#define MULTIPLY(n_rows, count)                                                                    \
    multiply(direct, n_rows, count, block->panel, block->stride, rows + r, block->first,           \
             points + at, last + at, size, frame->d, out + r * size + at)
            if (step == ROWS && count == VECTORS)
                MULTIPLY(ROWS, VECTORS);
            else if (count == VECTORS)
                MULTIPLY(2, VECTORS);
            else if (step == ROWS && count == 2)
                MULTIPLY(ROWS, 2);
            else if (count == 2)
                MULTIPLY(2, 2);
            else if (step == ROWS)
                MULTIPLY(ROWS, 1);
            else
                MULTIPLY(2, 1);
#undef MULTIPLY
        }
    }
}

/* Products of queries with the points of a leaf, a row of `out` for each. `rows` and `out` have
   room for an even number. */
static void products(const Frame *frame, Space *space, int32_t *rows, int64_t n, int64_t leaf,
                     float *out)
{
    const float *points = frame->stored + leaf * (frame->d + 2) * frame->size;
    const float *last = points + (frame->d + 1) * frame->size;
    if (n % 2)
        rows[n] = rows[n - 1];
    if (!frame->direct) {
        multiply_all(0, frame, &space->block, rows, n, points, last, out);
        return;
    }
    const float empty = (float)-frame->reach;
    for (int64_t j = 0; j < frame->size; j++)
        space->last[j] = last[j] < empty ? last[j] : 0;
    multiply_all(1, frame, &space->block, rows, n, points, space->last, out);
}

/* The maxima of every 16th entry. */
static inline void lanes(const float *row, int64_t n, float *best)
{
    for (int l = 0; l < 16; l++)
        best[l] = row[l];
    for (int64_t j = 16; j < n; j += 16)
        for (int l = 0; l < 16; l++)
            best[l] = row[j + l] > best[l] ? row[j + l] : best[l];
}

static inline float largest(const float *row, int64_t n)
{
    float best[16];
    lanes(row, n, best);
    for (int l = 1; l < 16; l++)
        best[0] = best[l] > best[0] ? best[l] : best[0];
    return best[0];
}

/* Whether an entry reaches a threshold. */
static inline int any_reaches(const float *row, int64_t n, float least)
{
    int any = 0;
    for (int64_t j = 0; j < n; j++)
        any |= row[j] >= least;
    return any;
}

/* The weight of the entries that reach a threshold. */
static int64_t weigh(const float *row, const int32_t *weights, int64_t n, float least)
{
    int32_t total = 0;
    for (int64_t j = 0; j < n; j++)
        total += row[j] >= least ? weights[j] : 0;
    return total;
}

/* A value that entries of weight `wanted` or slightly more reach; `floor` if they weigh less. */
static float reached(const float *row, const int32_t *weights, int64_t n, int64_t wanted,
                           float floor)
{
    float best[16], low = INFINITY, high = -INFINITY;
    lanes(row, n, best);
    for (int l = 0; l < 16; l++) {
        low = best[l] < low ? best[l] : low;
        high = best[l] > high ? best[l] : high;
    }
    /* Sixteen entries reach the smallest maximum. */
    if (wanted > 16 || low < floor) {
        low = floor;
        if (weigh(row, weights, n, low) < wanted)
            return floor;
    }
    if (weigh(row, weights, n, high) >= wanted)
        return high;
    /* Entries of weight `wanted` reach `low`, and not `high`. */
    int64_t below = key_of(low), above = key_of(high);
    while (above - below > 1) {
        int64_t middle = (below + above) / 2, weight;
        weight = weigh(row, weights, n, value_of((int32_t)middle));
        if (weight < wanted)
            above = middle;
        else {
            below = middle;
            if (weight <= wanted + 1)
                break;
        }
    }
    return value_of((int32_t)below);
}

/* Lower bounds of the distance of every centre from that of a block. */
static void leaf_distances(const Frame *frame, const Block *block, float *out)
{
    const int64_t n = frame->n_leaves;
    float sums[256];
    for (int64_t at = 0; at < n; at += 256) {
        int64_t count = n - at < 256 ? n - at : 256;
        memset(sums, 0, sizeof sums);
        for (int64_t c = 0; c < frame->m; c++) {
            const float *centres = frame->centres + c * n + at, own = block->centre[c];
            for (int64_t j = 0; j < count; j++) {
                float gap = centres[j] - own;
                sums[j] += gap * gap;
            }
        }
        for (int64_t j = 0; j < count; j++)
            out[at + j] = sqrtf(sums[j]) * frame->shrink;
    }
}

/* Keep of `rows` the queries that can have a point of a leaf within their radius. */
static int64_t within_reach(const Frame *frame, const Block *block, const float *radii,
                                  int64_t leaf, const int32_t *rows, int64_t n, int32_t *kept,
                                  float *sums)
{
    int64_t count = 0;
    memset(sums, 0, block->n * sizeof *sums);
    for (int64_t c = 0; c < frame->m; c++) {
        const float *own = block->sketch + c * block->sketch_stride;
        const float centre = frame->centres[c * frame->n_leaves + leaf];
        for (int64_t i = 0; i < block->n; i++) {
            float gap = own[i] - centre;
            sums[i] += gap * gap;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        int32_t row = rows[i];
        kept[count] = row;
        count += radii[row] >= 0 && sqrtf(sums[row]) * frame->shrink <= frame->radii[leaf] + radii[row];
    }
    return count;
}

/* The ball of the queries `rows` of a block. */
static void enclose(const Frame *frame, Block *block, const int32_t *rows, int64_t n,
                          float *sums)
{
    memset(sums, 0, block->n * sizeof *sums);
    for (int64_t c = 0; c < frame->m; c++) {
        const float *own = block->sketch + c * block->sketch_stride;
        double total = 0;
        for (int64_t i = 0; i < n; i++)
            total += own[rows[i]];
        const float centre = block->centre[c] = (float)(total / n);
        for (int64_t i = 0; i < block->n; i++) {
            float gap = own[i] - centre;
            sums[i] += gap * gap;
        }
    }
    float most = 0;
    for (int64_t i = 0; i < n; i++)
        most = sums[rows[i]] > most ? sums[rows[i]] : most;
    /* Squares that underflow are smaller than the last term. */
    block->radius = sqrtf(most) * frame->stretch + 1e-18f;
}

/* Fill the grid with lower bounds of the distances of queries and centres; 0 without memory. */
static int measure(const Frame *frame, Space *space, const int64_t *which, int64_t n_which)
{
    const Block *block = &space->block;
    const int64_t n = block->n;
    if (!space->grid) {
        space->grid = malloc((size_t)frame->n_leaves * (space->room + 1) * sizeof(float));
        if (!space->grid)
            return 0;
    }
    float *least = space->floats + 3 * (space->room + 1);
    for (int64_t i = 0; i < n; i++)
        least[i] = INFINITY;
    for (int64_t j = 0; j < n_which; j++) {
        float *sums = space->grid + j * n;
        memset(sums, 0, n * sizeof *sums);
        for (int64_t c = 0; c < frame->m; c++) {
            const float *own = block->sketch + c * block->sketch_stride;
            const float centre = frame->centres[c * frame->n_leaves + which[j]];
            for (int64_t i = 0; i < n; i++) {
                float gap = own[i] - centre;
                sums[i] += gap * gap;
            }
        }
        for (int64_t i = 0; i < n; i++) {
            sums[i] = sqrtf(sums[i]) * frame->shrink;
            if (sums[i] < least[i]) {
                least[i] = sums[i];
                space->nearest[i] = (int32_t)which[j];
            }
        }
    }
    return 1;
}

/* The distance of the `most` nearest of n leaves, or slightly more; `line` is memory. */
static float cut(const float *grid, int64_t stride, int64_t n, int64_t most, float *line)
{
    if (most >= n)
        return INFINITY;
    float low = INFINITY, high = 0;
    for (int64_t j = 0; j < n; j++) {
        line[j] = grid[j * stride];
        low = line[j] < low ? line[j] : low;
        high = line[j] > high ? line[j] : high;
    }
    int64_t below = (int64_t)key_of(low) - 1, above = key_of(high);
    while (above - below > 1) {
        int64_t middle = (below + above) / 2;
        int32_t count = 0;
        float value = value_of((int32_t)middle);
        for (int64_t j = 0; j < n; j++)
            count += line[j] <= value;
        if (count < most)
            below = middle;
        else {
            above = middle;
            if (count <= most + 1)
                break;
        }
    }
    return value_of((int32_t)above);
}

/* Leaves of `which`, or all for NULL, within a distance of a block, the nearest centres first.
   `label` and `same` select those of a class, or of all others; `label` NONE selects all. */
static int64_t leaves_within(const Frame *frame, const Block *block, const int64_t *which,
                             int64_t n_which, int64_t label, int same, float most,
                             const float *between, Visit *visits)
{
    int64_t count = 0;
    for (int64_t i = 0; i < (which ? n_which : frame->n_leaves); i++) {
        int64_t leaf = which ? which[i] : i;
        if (label != NONE && (frame->labels[leaf] == label) != same)
            continue;
        float distance = between[leaf] - (frame->radii[leaf] + block->radius);
        if (distance <= most)
            visits[count++] = (Visit){distance, between[leaf], (int32_t)leaf};
    }
    qsort(visits, count, sizeof *visits, nearer);
    return count;
}

/* Add to `counts` the samples nearer than thresholds, in the `most` nearest leaves of each query,
   until they exceed k; `seen` are the leaves that each has been compared with. Returns pairs. */
static int64_t count_in(const Frame *frame, const Block *block, const Visit *visits,
                              int64_t n_visits, int64_t skip, const int32_t *rows, int64_t n,
                              const float *thresholds, const float *radii, int64_t k, int64_t most,
                              int64_t *counts, int64_t *seen, Space *space)
{
    int64_t pairs = 0, size = frame->size;
    for (int64_t v = 0; v < n_visits; v++) {
        int64_t open = 0;
        float far = -1;
        for (int64_t i = 0; i < n; i++)
            if (counts[rows[i]] <= k && seen[rows[i]] < most) {
                space->open[open++] = rows[i];
                far = radii[rows[i]] > far ? radii[rows[i]] : far;
            }
        if (!open)
            break;
        if (visits[v].distance > far || visits[v].leaf == skip)
            continue;
        int64_t near = within_reach(frame, block, radii, visits[v].leaf, space->open, open,
                                          space->near, space->sums);
        if (!near)
            continue;
        products(frame, space, space->near, near, visits[v].leaf, space->products);
        pairs += near * size;
        const int32_t *weights = frame->weights + visits[v].leaf * size;
        for (int64_t i = 0; i < near; i++) {
            int32_t row = space->near[i];
            counts[row] += weigh(space->products + i * size, weights, size, thresholds[row]);
            seen[row]++;
        }
    }
    return pairs;
}

/* See `certify` in __init__.py. */
int64_t NAME(certify)(const Frame *frame, const float *sketch, int64_t begin, int64_t end,
                             int64_t k, double ceiling, int64_t first, int64_t glance,
                             double *bounds, double *nearest, uint8_t *state)
{
    const int64_t size = frame->size, n_leaves = frame->n_leaves;
    Space *space = make_space(frame, size);
    if (!space)
        return FULL;
    float *own = space->own, *enemy = space->floats, *radii = enemy + size, *least = radii + size;
    int64_t *counts = space->numbers, *seen = counts + size, pairs = 0;
    int32_t *rows = space->rows, *open = space->more;
    const float empty = -0.5f * (float)frame->reach;
    for (int64_t leaf = begin; leaf < end; leaf++) {
        const int64_t at = leaf * size, label = frame->labels[leaf];
        double *bound = bounds + (leaf - begin) * size, *near = nearest + (leaf - begin) * size;
        uint8_t *what = state + (leaf - begin) * size;
        Block *block = &space->block;
        const float *points = frame->stored + leaf * (frame->d + 2) * size;
        block->n = block->stride = size;
        block->panel = points;
        block->first = points + (frame->d + 1) * size;
        block->squares = frame->squares + at;
        take_sketch(frame, space, sketch, at, size);
        int64_t n = 0;
        for (int64_t i = 0; i < size; i++) {
            bound[i] = INFINITY;
            near[i] = ceiling;
            what[i] = 0;
            if (frame->weights[at + i])
                rows[n++] = (int32_t)i;
        }
        if (!n)
            continue;
        products(frame, space, rows, n, leaf, own);
        pairs += n * size;
        int64_t n_open = 0;
        float far = 0;
        for (int64_t i = 0; i < n; i++) {
            int32_t row = rows[i];
            float *line = own + i * size;
            line[row] = largest(line, size);
            line[row] = line[row] > 0 ? line[row] : 0;
            float kth = reached(line, frame->weights + at, size, k + 1, empty);
            if (kth > empty)
                bound[row] = at_most(frame, kth, block->squares[row]);
            enemy[row] = -INFINITY;
            if (label >= 0 && bound[row] < INFINITY) {
                space->place[row] = (int32_t)i;
                open[n_open++] = row;
                radii[row] = radius(frame, bound[row], block->squares[row]);
                far = radii[row] > far ? radii[row] : far;
            }
        }
        if (!n_open)
            continue;
        enclose(frame, block, open, n_open, space->sums);
        leaf_distances(frame, block, space->distances);
        int64_t n_visits = leaves_within(frame, block, NULL, n_leaves, label, 0, far,
                                               space->distances, space->visits);
        int64_t n_friends = -1;
        for (int64_t v = 0;; v++) {
            int glimpsed = v == glance && n_visits > 2 * glance;
            if (glimpsed || v == n_visits) {
                /* Certificates, and counts of friends where the bound is not enough. */
                int64_t left = 0;
                for (int64_t i = 0; i < n_open; i++) {
                    int32_t row = open[i];
                    double e = at_least(frame, enemy[row], block->squares[row]);
                    near[row] = e < ceiling ? e : ceiling;
                    what[row] = 0;
                    if (bound[row] < near[row])
                        what[row] = CERTIFIED;
                    else if (near[row] > 0) {
                        what[row] = UNDECIDED;
                        space->left[left++] = row;
                        least[row] = certainly(frame, near[row], block->squares[row]);
                        radii[row] = radius(frame, near[row], block->squares[row]);
                        counts[row] = weigh(own + space->place[row] * size,
                                                  frame->weights + at, size, least[row]);
                        seen[row] = 1;
                    }
                }
                if (left) {
                    if (n_friends < 0)
                        n_friends = leaves_within(frame, block, NULL, n_leaves, label, 1, far,
                                                        space->distances, space->others);
                    pairs += count_in(frame, block, space->others, n_friends, leaf,
                                            space->left, left, least, radii, k, first, counts, seen,
                                            space);
                    for (int64_t i = 0; i < left; i++) {
                        int32_t row = space->left[i];
                        if (counts[row] > k)
                            what[row] = CERTIFIED;
                        else if (glimpsed)
                            what[row] = 0;
                    }
                }
                if (!glimpsed)
                    break;
                /* The others are compared with the other leaves of other classes too. */
                int64_t still = 0;
                for (int64_t i = 0; i < n_open; i++) {
                    int32_t row = open[i];
                    if (!what[row])
                        continue;
                    open[still++] = row;
                    radii[row] = radius(frame, near[row] < bound[row] ? near[row] : bound[row],
                                        block->squares[row]);
                }
                n_open = still;
            }
            far = -1;
            for (int64_t i = 0; i < n_open; i++)
                far = radii[open[i]] > far ? radii[open[i]] : far;
            if (!n_open) {
                v = n_visits - 1;
                continue;
            }
            if (space->visits[v].distance > far)
                continue;
            int64_t leaf_of = space->visits[v].leaf;
            int64_t near_by = within_reach(frame, block, radii, leaf_of, open, n_open,
                                                 space->near, space->sums);
            if (!near_by)
                continue;
            products(frame, space, space->near, near_by, leaf_of, space->products);
            pairs += near_by * size;
            for (int64_t i = 0; i < near_by; i++) {
                int32_t row = space->near[i];
                float best = largest(space->products + i * size, size);
                if (best > enemy[row]) {
                    enemy[row] = best;
                    /* No enemy farther than this one matters. */
                    double most = at_most(frame, best, block->squares[row]);
                    if (most < bound[row])
                        radii[row] = radius(frame, most, block->squares[row]);
                }
            }
        }
    }
    free_space(space);
    return pairs;
}

/* The same for queries of several groups, and for the leaves `which`. */
static int64_t count_mixed(const Frame *frame, const int64_t *which, int64_t n_which,
                           const float *thresholds, const float *radii, const float *cuts,
                           int64_t k, int64_t *counts, Space *space)
{
    const Block *block = &space->block;
    int64_t pairs = 0, size = frame->size, n = block->n;
    for (int64_t j = 0; j < n_which; j++) {
        const float *distances = space->grid + j * n, reach = frame->radii[which[j]];
        int64_t near = 0;
        for (int64_t i = 0; i < n; i++) {
            space->near[near] = (int32_t)i;
            near += distances[i] <= cuts[i] && distances[i] <= reach + radii[i] && counts[i] <= k;
        }
        if (!near)
            continue;
        products(frame, space, space->near, near, which[j], space->products);
        pairs += near * size;
        const int32_t *weights = frame->weights + which[j] * size;
        for (int64_t i = 0; i < near; i++) {
            int32_t row = space->near[i];
            counts[row] += weigh(space->products + i * size, weights, size, thresholds[row]);
        }
    }
    return pairs;
}

/* See `count_nearer` in __init__.py. */
int64_t NAME(count_nearer)(const Frame *frame, const Queries *queries, const int64_t *which,
                           int64_t n_which, int64_t k, int64_t most, const double *nearest,
                           int64_t *counts)
{
    Space *space = make_space(frame, BLOCK_QUERIES);
    if (!space)
        return FULL;
    int64_t pairs = 0;
    float *least = space->floats, *radii = least + BLOCK_QUERIES + 1;
    float *cuts = radii + BLOCK_QUERIES + 1;
    for (int64_t at = 0, n; at < queries->n; at += n) {
        int64_t *seen = space->numbers;
        int mixed;
        n = take_queries(frame, space, queries, at, &mixed);
        Block *block = &space->block;
        float far = -1;
        int64_t some = 0;
        for (int64_t i = 0; i < n; i++) {
            counts[at + i] = seen[i] = 0;
            cuts[i] = -1;
            if (!(nearest[at + i] > 0))
                continue;
            least[i] = certainly(frame, nearest[at + i], block->squares[i]);
            radii[i] = radius(frame, nearest[at + i], block->squares[i]);
            far = radii[i] > far ? radii[i] : far;
            space->rows[some++] = (int32_t)i;
        }
        if (!some)
            continue;
        const int64_t *leaves = which;
        int64_t n_leaves = n_which;
        if (!mixed) {
            enclose(frame, block, space->rows, some, space->sums);
            leaf_distances(frame, block, space->distances);
            n_leaves = leaves_within(frame, block, which, n_which, NONE, 0, far, space->distances,
                                     space->visits);
            if (n_leaves <= most) {
                pairs += count_in(frame, block, space->visits, n_leaves, -1, space->rows, some,
                                  least, radii, k, most, counts + at, seen, space);
                continue;
            }
            for (int64_t v = 0; v < n_leaves; v++)
                space->chosen[v] = space->visits[v].leaf;
            leaves = space->chosen;
        }
        if (!measure(frame, space, leaves, n_leaves)) {
            free_space(space);
            return FULL;
        }
        for (int64_t i = 0; i < some; i++)
            cuts[space->rows[i]] =
                cut(space->grid + space->rows[i], n, n_leaves, most, space->distances);
        pairs += count_mixed(frame, leaves, n_leaves, least, radii, cuts, k, counts + at, space);
    }
    free_space(space);
    return pairs;
}

/* The largest value that entries of a list of weight `wanted` reach. */
static float kth_of(const List *list, int64_t wanted)
{
    int32_t low = INT32_MAX, high = INT32_MIN;
    for (int64_t i = 0; i < list->n; i++) {
        int32_t key = key_of(list->entries[i].value);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    /* Entries of weight `wanted` reach `low`, and not `above`. */
    int64_t below = low, above = (int64_t)high + 1;
    while (above - below > 1) {
        int64_t middle = below + (above - below) / 2, total = 0;
        float least = value_of((int32_t)middle);
        for (int64_t i = 0; i < list->n; i++)
            total += list->entries[i].value >= least ? list->entries[i].weight : 0;
        if (total < wanted)
            above = middle;
        else {
            below = middle;
            if (total == wanted)
                break;
        }
    }
    return value_of((int32_t)below);
}

/* A value of a point in full precision. */
static inline double value_at(const void *values, int single, int64_t at)
{
    return single ? ((const float *)values)[at] : ((const double *)values)[at];
}

/* The squared distance of a query and a point in full precision, in the units of coordinates. */
static double exact_square(const Frame *frame, const Queries *queries, int64_t query, int64_t place)
{
    const int64_t d = frame->d, left = queries->rows[query] * d, right = frame->order[place] * d;
    double total = 0;
    for (int64_t c = 0; c < d; c++) {
        double gap = value_at(queries->values, (int)queries->single, left + c) -
                     value_at(frame->values, (int)frame->single, right + c);
        total += gap * gap;
    }
    return ldexp(total, 2 * (int)frame->exponent);
}

static int by_exact(const void *left, const void *right)
{
    double a = ((const Entry *)left)->exact, b = ((const Entry *)right)->exact;
    return (a > b) - (a < b);
}

/* Lower a bound by distances in full precision, where products can't tell the entries apart. */
static void reduce_exactly(const Frame *frame, const Queries *queries, int64_t query, List *list,
                           int64_t wanted, double square)
{
    /* What `settle` computes differs from these by less. */
    const double relative = 1 + (8 * frame->d + 64) * 0x1p-53;
    int64_t total = 0, kept = 0;
    for (int64_t i = 0; i < list->n; i++)
        if (list->entries[i].exact < 0)
            list->entries[i].exact =
                exact_square(frame, queries, query, list->entries[i].place);
    qsort(list->entries, list->n, sizeof *list->entries, by_exact);
    while (kept < list->n && total < wanted)
        total += list->entries[kept++].weight;
    if (total < wanted)
        return;
    double bound = list->entries[kept - 1].exact * relative + frame->absolute;
    double most = bound * relative + frame->absolute;
    while (kept < list->n && list->entries[kept].exact <= most)
        total += list->entries[kept++].weight;
    list->n = kept;
    list->total = total;
    if (bound < list->bound) {
        list->bound = bound;
        list->least = possibly(frame, bound, square);
    }
}

/* Lower the bound of a query to the entries of its list that weigh `wanted`, and drop the others. */
static void reduce(const Frame *frame, const Queries *queries, int64_t query, List *list,
                   int64_t wanted, double square)
{
    Entry *entries = list->entries;
    if (list->local) {
        reduce_exactly(frame, queries, query, list, wanted, square);
        return;
    }
    if (list->total >= wanted) {
        float kth = kth_of(list, wanted);
        double bound = at_most(frame, kth, square);
        if (bound < list->bound) {
            list->bound = bound;
            list->least = possibly(frame, bound, square);
        }
    }
    int64_t kept = 0, total = 0;
    for (int64_t i = 0; i < list->n; i++)
        if (entries[i].value >= list->least) {
            total += entries[i].weight;
            entries[kept++] = entries[i];
        }
    list->n = kept;
    list->total = total;
    if (frame->direct && frame->values && kept > 2 * wanted + 32)
        reduce_exactly(frame, queries, query, list, wanted, square);
}

/* Products of queries and the points of a leaf in coordinates around that leaf: those of near points
   have digits left where both are far from the centre of the table. */
static int local_products(const Frame *frame, const Queries *queries, int64_t from, Space *space,
                          int64_t leaf, int32_t *rows, int64_t n)
{
    const int64_t size = frame->size, d = frame->d, stride = space->room + 32;
    const int64_t *order = frame->order + leaf * size;
    if (!space->leaf) {
        space->leaf = malloc(size * d * sizeof(float));
        space->around = malloc(stride * d * sizeof(float));
        space->middle = malloc(d * sizeof(double));
        space->lengths = malloc((space->room + 1) * sizeof(double));
    }
    if (!space->leaf || !space->around || !space->middle || !space->lengths)
        return 0;
    const double factor = ldexp(1, (int)frame->exponent);
    int64_t count = 0;
    for (int64_t j = 0; j < size; j++) {
        /* Far below all products. */
        space->last[j] = order[j] < 0 ? -INFINITY : 0;
        count += order[j] >= 0;
    }
    for (int64_t c = 0; c < d; c++) {
        double total = 0;
        for (int64_t j = 0; j < size; j++)
            if (order[j] >= 0)
                total += value_at(frame->values, (int)frame->single, order[j] * d + c) / count;
        space->middle[c] = total;
        for (int64_t j = 0; j < size; j++)
            space->leaf[c * size + j] =
                order[j] < 0 ? 0
                             : (float)((value_at(frame->values, (int)frame->single,
                                                 order[j] * d + c) -
                                        total) *
                                       factor);
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = queries->rows[from + rows[i]] * d;
        double square = 0;
        for (int64_t c = 0; c < d; c++) {
            double gap =
                (value_at(queries->values, (int)queries->single, at + c) - space->middle[c]) * factor;
            square += gap * gap;
            space->around[c * stride + i] = (float)gap;
        }
        space->lengths[i] = square * (1 + 1e-12);
    }
    Block block = {.n = n, .stride = stride, .panel = space->around, .first = space->around};
    for (int64_t i = 0; i < n; i++)
        space->place[i] = (int32_t)i;
    space->place[n] = (int32_t)(n - 1);
    multiply_all(1, frame, &block, space->place, n, space->leaf, space->last, space->products);
    return 1;
}

/* Compare queries, `left` of the space, with a leaf in coordinates around it. */
static int64_t visit_locally(const Frame *frame, const Queries *queries, int64_t from, Space *space,
                             int64_t leaf, int64_t n, int64_t wanted, float *radii)
{
    const int64_t size = frame->size;
    const int32_t *weights = frame->weights + leaf * size;
    if (!local_products(frame, queries, from, space, leaf, space->left, n))
        return FULL;
    for (int64_t i = 0; i < n; i++) {
        const int32_t row = space->left[i];
        const float *line = space->products + i * size;
        const double square = space->block.squares[row];
        List *list = &space->lists[row];
        float least = possibly(frame, list->bound, space->lengths[i]);
        if (!any_reaches(line, size, least))
            continue;
        for (int64_t j = 0; j < size; j++)
            if (line[j] >= least && !append(list, line[j], leaf * size + j, weights[j]))
                return FULL;
        if (list->n > list->limit) {
            reduce_exactly(frame, queries, from + row, list, wanted, square);
            list->limit = 2 * (list->n > wanted ? list->n : wanted) + 16;
            if (list->n > CROWD)
                return CROWDED;
        }
        radii[row] = radius(frame, list->bound, square);
    }
    return n * size;
}

/* Compare queries of a block, which begins at `from`, with a leaf; return the number of pairs, or an
   error. */
static int64_t visit(const Frame *frame, const Queries *queries, int64_t from, Space *space,
                     int64_t leaf, int64_t near, int64_t wanted, float *radii)
{
    int64_t n_local = 0, others = 0;
    for (int64_t i = 0; i < near; i++) {
        int32_t row = space->near[i];
        if (space->lists[row].local)
            space->left[n_local++] = row;
        else
            space->near[others++] = row;
    }
    near = others;
    int64_t pairs =
        n_local ? visit_locally(frame, queries, from, space, leaf, n_local, wanted, radii) : 0;
    if (pairs < 0)
        return pairs;
    const int64_t size = frame->size;
    const Block *block = &space->block;
    const int32_t *weights = frame->weights + leaf * size;
    const int exactly = frame->direct && frame->values;
    if (!near)
        return pairs;
    products(frame, space, space->near, near, leaf, space->products);
    for (int64_t i = 0; i < near; i++) {
        int32_t row = space->near[i];
        const float *line = space->products + i * size;
        List *list = &space->lists[row];
        if (list->coarse || !any_reaches(line, size, list->least))
            continue;
        if (list->bound == INFINITY) {
            /* Take no more than needed of the first leaf. */
            float kth = reached(line, weights, size, wanted, list->least);
            if (kth > list->least) {
                list->bound = at_most(frame, kth, block->squares[row]);
                list->least = possibly(frame, list->bound, block->squares[row]);
            }
        }
        list->coarse = !exactly && 20 * margin_of(frame, block->squares[row]) >= list->bound;
        if (list->coarse) {
            radii[row] = -1;
            continue;
        }
        const float least = list->least;
        for (int64_t part = 0; part < size; part += 16) {
            if (!any_reaches(line + part, 16, least))
                continue;
            for (int64_t j = part; j < part + 16; j++)
                if (line[j] >= least && !append(list, line[j], leaf * size + j, weights[j]))
                    return FULL;
        }
        if (exactly && 20 * margin_of(frame, block->squares[row]) >= list->bound) {
            list->local = 1;
            list->limit = 0;
        }
        if (list->n > list->limit) {
            reduce(frame, queries, from + row, list, wanted, block->squares[row]);
            /* Points that are equally near remain. */
            list->limit = 2 * (list->n > wanted ? list->n : wanted) + 16;
            if (list->n > CROWD)
                return CROWDED;
        }
        radii[row] = radius(frame, list->bound, block->squares[row]);
    }
    return pairs + near * size;
}

static float farthest(const float *radii, int64_t n)
{
    float far = -1;
    for (int64_t i = 0; i < n; i++)
        far = radii[i] > far ? radii[i] : far;
    return far;
}

/* Search for the queries of a block of several groups, which begins at `from`. */
static int64_t search_mixed(const Frame *frame, const Queries *queries, int64_t from, Space *space,
                            const int64_t *which, int64_t n_which, int64_t wanted, float *radii)
{
    const int64_t n = space->block.n;
    int64_t pairs = 0;
    if (!measure(frame, space, which, n_which))
        return FULL;
    /* The nearest leaf of each query first, since it gives bounds. */
    for (int64_t i = 0; i < n; i++) {
        int64_t near = 0, leaf = space->nearest[i], first = 1;
        for (int64_t j = 0; j < n; j++)
            if (space->nearest[j] == leaf) {
                first &= j >= i;
                space->near[near++] = (int32_t)j;
            }
        if (!first)
            continue;
        int64_t result = visit(frame, queries, from, space, leaf, near, wanted, radii);
        if (result < 0)
            return result;
        pairs += result;
    }
    for (int64_t j = 0; j < n_which; j++) {
        const float *distances = space->grid + j * n, reach = frame->radii[which[j]];
        int64_t near = 0;
        for (int64_t i = 0; i < n; i++) {
            space->near[near] = (int32_t)i;
            near += radii[i] >= 0 && distances[i] <= reach + radii[i] &&
                    space->nearest[i] != which[j];
        }
        int64_t result = visit(frame, queries, from, space, which[j], near, wanted, radii);
        if (result < 0)
            return result;
        pairs += result;
    }
    return pairs;
}

/* Search for the queries of a block of one group. */
static int64_t search_group(const Frame *frame, const Queries *queries, int64_t from, Space *space,
                            const int64_t *which, int64_t n_which, int64_t wanted, float *radii)
{
    Block *block = &space->block;
    const int64_t n = block->n;
    enclose(frame, block, space->rows, n, space->sums);
    leaf_distances(frame, block, space->distances);
    /* The nearest leaf gives bounds, within which the others are sorted. */
    int64_t nearest = which[0];
    for (int64_t i = 1; i < n_which; i++)
        if (space->distances[which[i]] < space->distances[nearest])
            nearest = which[i];
    memcpy(space->near, space->rows, n * sizeof *space->near);
    int64_t pairs = visit(frame, queries, from, space, nearest, n, wanted, radii);
    float far = farthest(radii, n);
    int64_t n_visits = leaves_within(frame, block, which, n_which, NONE, 0, far, space->distances,
                                     space->visits);
    for (int64_t v = 0; v < n_visits && pairs >= 0; v++) {
        if (v % 4 == 0)
            far = farthest(radii, n);
        int64_t leaf = space->visits[v].leaf;
        if (space->visits[v].distance > far || leaf == nearest)
            continue;
        int64_t near = within_reach(frame, block, radii, leaf, space->rows, n, space->near,
                                    space->sums);
        int64_t result = visit(frame, queries, from, space, leaf, near, wanted, radii);
        pairs = result < 0 ? result : pairs + result;
    }
    return pairs;
}

/* See `search` in __init__.py. */
int64_t NAME(search)(const Frame *frame, const Queries *queries, const int64_t *which,
                     int64_t n_which, int64_t wanted, double *bounds, uint8_t *coarse,
                     Found *found)
{
    Space *space = make_space(frame, BLOCK_QUERIES);
    if (!space)
        return FULL;
    int64_t pairs = 0, result = 0;
    float *radii = space->floats;
    for (int64_t at = 0, n; at < queries->n && result >= 0; at += n) {
        int mixed;
        n = take_queries(frame, space, queries, at, &mixed);
        const double *squares = space->block.squares;
        for (int64_t i = 0; i < n; i++) {
            start_list(frame, &space->lists[i], bounds[at + i], squares[i]);
            radii[i] = radius(frame, bounds[at + i], squares[i]);
            space->rows[i] = (int32_t)i;
        }
        result = mixed ? search_mixed(frame, queries, at, space, which, n_which, wanted, radii)
                       : search_group(frame, queries, at, space, which, n_which, wanted, radii);
        pairs += result;
        for (int64_t i = 0; i < n && result >= 0; i++) {
            List *list = &space->lists[i];
            if (list->coarse)
                list->n = list->total = 0;
            reduce(frame, queries, at + i, list, wanted, squares[i]);
            bounds[at + i] = list->bound;
            coarse[at + i] = (uint8_t)list->coarse;
            result = keep(found, at + i, list) ? 0 : FULL;
        }
    }
    free_space(space);
    return result < 0 ? result : pairs;
}
