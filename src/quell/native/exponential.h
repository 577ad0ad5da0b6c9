/* exp(x) for loops that the compiler turns into vector instructions.
 *
 * x = n ln 2 + r with n an integer and |r| <= ln 2 / 2; exp(r) by its Taylor polynomial of degree
 * 12, whose remainder is below 2e-16 there; 2^n is put into the exponent bits. Off by at most 2
 * units in the last place between -708 and 709; 0 below, inf above; nan stays nan. */
#ifndef QUELL_EXPONENTIAL_H
#define QUELL_EXPONENTIAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double quick_exp(double x)
{
    const double rounder = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer */
    double clipped = x > 709.0 ? 709.0 : x;
    clipped = clipped < -708.0 ? -708.0 : clipped; /* nan passes through both */
    double shifted = clipped * 1.4426950408889634074 + rounder;
    double n = shifted - rounder;
    double r = clipped - n * 6.93147180369123816490e-01;
    r -= n * 1.90821492927058770002e-10;
    double p = 2.08767569878680989792e-9; /* 1/12! */
    p = p * r + 2.50521083854417187751e-8;
    p = p * r + 2.75573192239858906526e-7;
    p = p * r + 2.75573192239858906526e-6;
    p = p * r + 2.48015873015873015873e-5;
    p = p * r + 1.98412698412698412698e-4;
    p = p * r + 1.38888888888888888889e-3;
    p = p * r + 8.33333333333333333333e-3;
    p = p * r + 4.16666666666666666667e-2;
    p = p * r + 1.66666666666666666667e-1;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    int64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (int64_t)((uint64_t)(bits + 1023) << 52); /* the low bits of shifted are n */
    double power;
    memcpy(&power, &bits, sizeof power);
    double value = p * power;
    value = x < -708.0 ? 0.0 : value;
    return x > 709.0 ? INFINITY : value;
}

/* The same in single precision, with a polynomial of degree 7: 0 below -87, inf above 88. */
static inline float quick_exp_single(float x)
{
    const float rounder = 12582912.0f; /* 1.5 * 2^23 */
    float clipped = x > 88.0f ? 88.0f : x;
    clipped = clipped < -87.0f ? -87.0f : clipped;
    float shifted = clipped * 1.44269504f + rounder;
    float n = shifted - rounder;
    float r = clipped - n * 0.693359375f;
    r += n * 2.12194440e-4f;
    float p = 1.98412698e-4f; /* 1/7! */
    p = p * r + 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (int32_t)((uint32_t)(bits + 127) << 23);
    float power;
    memcpy(&power, &bits, sizeof power);
    float value = p * power;
    value = x < -87.0f ? 0.0f : value;
    return x > 88.0f ? INFINITY : value;
}

#endif
