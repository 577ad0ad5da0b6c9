/* The sums over the base sample in the entropy of a mixture, for numbers of type NUMBER, whose
 * exponential is EXP: the function AVERAGE. Included once per type.
 *
 * With t_l = coefficients[l] . (1, f) for the features f of a point, returns <log sum_l exp t_l> over
 * the n points, and writes <r_l (1, f)> with r_l = exp t_l / sum_m exp t_m into moments (K, 1 + F), if
 * that is not NULL. The largest t_l of a point is taken out first. coefficients (K, 1 + F), features
 * (F, n rounded up to whole blocks of BLOCK), F a multiple of 4; workspace ((K + 2) RUN,). */
FOR_EVERY_CPU
static double AVERAGE(double *restrict moments, const NUMBER *restrict coefficients,
                      const NUMBER *restrict features, NUMBER *restrict workspace,
                      ptrdiff_t n_components, ptrdiff_t n_features, ptrdiff_t n)
{
    NUMBER *restrict top = workspace, *restrict total = top + RUN, *restrict terms = total + RUN;
    const ptrdiff_t stride = ROUND_UP(n, BLOCK);
    double sum = 0.0;
    if (moments)
        memset(moments, 0, (size_t)(n_components * (1 + n_features)) * sizeof(double));
    for (ptrdiff_t first = 0; first < n; first += RUN) {
        const ptrdiff_t count = n - first < RUN ? n - first : RUN;
        const ptrdiff_t run = ROUND_UP(count, BLOCK);
        for (ptrdiff_t l = 0; l < n_components; l++) {
            const NUMBER *c = coefficients + l * (1 + n_features);
            NUMBER *restrict t = terms + l * RUN;
            for (ptrdiff_t i = 0; i < run; i++)
                t[i] = c[0];
            for (ptrdiff_t j = 0; j < n_features; j += 4) {
                const NUMBER *restrict f = features + j * stride + first;
                const NUMBER c0 = c[j + 1], c1 = c[j + 2], c2 = c[j + 3], c3 = c[j + 4];
                for (ptrdiff_t i = 0; i < run; i++)
                    t[i] += c0 * f[i] + c1 * f[stride + i] + c2 * f[2 * stride + i] +
                            c3 * f[3 * stride + i];
            }
            for (ptrdiff_t i = 0; i < run; i++)
                top[i] = l == 0 || t[i] > top[i] ? t[i] : top[i];
        }
        memset(total, 0, RUN * sizeof(NUMBER));
        for (ptrdiff_t l = 0; l < n_components; l++) {
            NUMBER *restrict t = terms + l * RUN;
            for (ptrdiff_t i = 0; i < run; i++) {
                t[i] = EXP(t[i] - top[i]);
                total[i] += t[i];
            }
        }
        for (ptrdiff_t i = 0; i < count; i += GROUP) {
            double product = 1.0;
            for (ptrdiff_t j = i; j < i + GROUP && j < count; j++) {
                product *= total[j];
                sum += top[j];
            }
            sum += log(product);
        }
        if (!moments)
            continue;
        for (ptrdiff_t i = 0; i < run; i++)
            total[i] = i < count ? 1 / total[i] : 0;
        for (ptrdiff_t l = 0; l < n_components; l++) {
            NUMBER *restrict r = terms + l * RUN, share = 0;
            double *restrict m = moments + l * (1 + n_features);
#pragma omp simd reduction(+ : share)
            for (ptrdiff_t i = 0; i < run; i++) {
                r[i] *= total[i];
                share += r[i];
            }
            m[0] += (double)share / (double)n;
            for (ptrdiff_t j = 0; j < n_features; j += 4) {
                const NUMBER *restrict f = features + j * stride + first;
                NUMBER m0 = 0, m1 = 0, m2 = 0, m3 = 0;
#pragma omp simd reduction(+ : m0, m1, m2, m3)
                for (ptrdiff_t i = 0; i < run; i++) {
                    m0 += r[i] * f[i];
                    m1 += r[i] * f[stride + i];
                    m2 += r[i] * f[2 * stride + i];
                    m3 += r[i] * f[3 * stride + i];
                }
                m[j + 1] += (double)m0 / (double)n;
                m[j + 2] += (double)m1 / (double)n;
                m[j + 3] += (double)m2 / (double)n;
                m[j + 4] += (double)m3 / (double)n;
            }
        }
    }
    return sum / (double)n;
}
