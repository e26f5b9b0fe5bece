/* What Python calls: searches for the instruction set of this processor, and distances of pairs. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"

#define SEARCHES(suffix)                                                                           \
    int64_t certify_##suffix(const Frame *, const float *, int64_t, int64_t, int64_t, double,      \
                             int64_t, int64_t, double *, double *, uint8_t *);                     \
    int64_t count_nearer_##suffix(const Frame *, const Queries *, const int64_t *, int64_t,        \
                                  int64_t, int64_t, const double *, int64_t *);                    \
    int64_t search_##suffix(const Frame *, const Queries *, const int64_t *, int64_t, int64_t,     \
                            double *, uint8_t *, Found *);
SEARCHES(plain)
#ifdef X86
SEARCHES(avx2)
SEARCHES(avx512)
#endif

int version(void) { return VERSION; }

/* The highest level of instructions that this processor has: 0 is any, 1 AVX2, 2 AVX-512. */
int best_level(void)
{
#ifdef X86
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
               ? 2
               : 1;
#else
    return 0;
#endif
}

#ifdef X86
#define CALL(name, ...)                                                                            \
    (level == 2   ? name##_avx512(__VA_ARGS__)                                                     \
     : level == 1 ? name##_avx2(__VA_ARGS__)                                                       \
                  : name##_plain(__VA_ARGS__))
#else
#define CALL(name, ...) ((void)level, name##_plain(__VA_ARGS__))
#endif

int64_t certify(int level, const Frame *frame, const float *sketch, int64_t begin, int64_t end,
                int64_t k, double ceiling, int64_t first, int64_t glance, double *bounds,
                double *nearest, uint8_t *state)
{
    return CALL(certify, frame, sketch, begin, end, k, ceiling, first, glance, bounds, nearest,
                state);
}

int64_t count_nearer(int level, const Frame *frame, const Queries *queries, const int64_t *which,
                     int64_t n_which, int64_t k, int64_t most, const double *nearest,
                     int64_t *counts)
{
    return CALL(count_nearer, frame, queries, which, n_which, k, most, nearest, counts);
}

int64_t search(int level, const Frame *frame, const Queries *queries, const int64_t *which,
               int64_t n_which, int64_t wanted, double *bounds, uint8_t *coarse, Found *found)
{
    return CALL(search, frame, queries, which, n_which, wanted, bounds, coarse, found);
}

void release(int64_t *places) { free(places); }

/* Squared distances of a point from four others, squares added from the first column to the last:
   the four sums are independent, and each has the order of `settle.pair_distances`. */
#define SQUARES(name, type, other)                                                                 \
    static void name(const type *left, const other *const right[4], int64_t d, double *sums)       \
    {                                                                                              \
        double a = 0, b = 0, c = 0, e = 0;                                                         \
        for (int64_t f = 0; f < d; f++) {                                                          \
            double own = left[f], p = own - right[0][f], q = own - right[1][f],                    \
                   r = own - right[2][f], s = own - right[3][f];                                   \
            a += p * p;                                                                            \
            b += q * q;                                                                            \
            c += r * r;                                                                            \
            e += s * s;                                                                            \
        }                                                                                          \
        sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = e;                                        \
    }
SQUARES(squares_dd, double, double)
SQUARES(squares_df, double, float)
SQUARES(squares_fd, float, double)
SQUARES(squares_ff, float, float)

enum { EUCLIDEAN, SQUARED, COSINE };

/* The k nearest candidates of each query in the order (distance, index), and the number of
   candidates. `left` are the queries, float32 if `left_single`, by row `rows[i]`; if `itself`, they
   are among the points, and each is left out. Missing neighbours are `none`, infinitely far. */
int settle(const void *left, int left_single, const void *right, int right_single, int64_t d,
           const int64_t *rows, const int64_t *offsets, const int64_t *candidates, int64_t n,
           int64_t k, int itself, int metric, int64_t none, int64_t *indices, double *distances,
           int64_t *counts)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t *index = indices + i * k, count = 0, full = 0, end = offsets[i + 1];
        double *distance = distances + i * k;
        const char *own = (const char *)left + rows[i] * d * (left_single ? 4 : 8);
        for (int64_t at = offsets[i]; at < end;) {
            int64_t group[4], size = 0;
            const void *others[4];
            double sums[4];
            for (; at < end && size < 4; at++)
                if (!itself || candidates[at] != rows[i])
                    group[size++] = candidates[at];
            if (!size)
                break;
            for (int64_t g = 0; g < 4; g++)
                others[g] = (const char *)right +
                            group[g < size ? g : 0] * d * (right_single ? 4 : 8);
            if (left_single && right_single)
                squares_ff((const float *)own, (const float *const *)others, d, sums);
            else if (left_single)
                squares_fd((const float *)own, (const double *const *)others, d, sums);
            else if (right_single)
                squares_df((const double *)own, (const float *const *)others, d, sums);
            else
                squares_dd((const double *)own, (const double *const *)others, d, sums);
            for (int64_t g = 0; g < size; g++) {
                double value = metric == EUCLIDEAN ? sqrt(sums[g])
                               : metric == COSINE  ? sums[g] / 2
                                                   : sums[g];
                int64_t to = full;
                count++;
                if (full == k) {
                    if (value > distance[k - 1] ||
                        (value == distance[k - 1] && group[g] > index[k - 1]))
                        continue;
                    to = k - 1;
                }
                else
                    full++;
                for (; to > 0 && (distance[to - 1] > value ||
                                  (distance[to - 1] == value && index[to - 1] > group[g]));
                     to--) {
                    distance[to] = distance[to - 1];
                    index[to] = index[to - 1];
                }
                distance[to] = value;
                index[to] = group[g];
            }
        }
        counts[i] = count;
        for (; full < k; full++) {
            index[full] = none;
            distance[full] = INFINITY;
        }
    }
    return 0;
}
