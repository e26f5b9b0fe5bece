/* What the compiled searches read and write; `__init__.py` has the same structures. */

#include <stdint.h>

/* Changes with the structures and the arguments of functions. */
enum { VERSION = 1 };

/* Results of a function that has found nothing: no memory, or too many points equally near. */
enum { FULL = -1, CROWDED = -2 };

/* Points in leaves; see `exact.products.Frame`. */
typedef struct {
    /* (n_leaves, d + 2, size) */
    const float *stored;
    /* (m, n_leaves), and the radii of balls around them, with room for rounding. */
    const float *centres, *radii;
    const int64_t *labels;
    /* Number of samples by place, 0 for empty slots. */
    const int32_t *weights;
    /* Squared lengths by place, if the points are the queries. */
    const double *squares;
    /* The point at each place, and the points in full precision; NULL if they are sparse. */
    const int64_t *order;
    const void *values;
    int64_t single, exponent;
    /* Whether products are computed from differences: with less rounding, in twice the time. */
    int64_t direct;
    int64_t n_leaves, d, m, size;
    /* Bounds of rounding: factors of a squared distance and of the squared length of the query, and
       a term for underflow; and the largest squared distance. */
    double relative, margin, absolute, reach, blur;
    /* Factors below and above 1 that cover the rounding of distances of centres. */
    float shrink, stretch;
} Frame;

/* Queries by row: their coordinates, the sketch (NULL if that is the same), squared lengths, and
   numbers of groups of queries that are near each other. */
typedef struct {
    const float *points, *sketch;
    const double *squares;
    const int64_t *groups;
    /* Their rows of values in full precision. */
    const int64_t *rows;
    const void *values;
    int64_t single, n;
} Queries;

/* What a search has found: the places near each query, one after the other. */
typedef struct {
    int64_t *offsets, *places;
    int64_t room;
} Found;
