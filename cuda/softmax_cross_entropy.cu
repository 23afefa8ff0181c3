// losses[i] = log(sum over c of e^x_c) - x_target, in double, with x = logits[i, :] and
// target = targets[i]; grad[i, c] = softmax(x)_c - (c == target). The row's maximum is subtracted
// first, so any finite logit is safe. A target that is no class makes the loss NaN: nobody waits
// for a device to check it beforehand.
//
// Owner: a team of lanes owns a row. Its lanes step through the classes side by side, so loads and
// stores coalesce, and meet by shuffles. sum_blocks.cu adds the losses up.
// Bytes: reads N*C logits (second looks come from the cache) and N targets, writes N*C numbers and
// N doubles.

extern "C" __global__ void softmax_cross_entropy(const real* logits,       // (N, C)
                                                 const long long* targets,  // (N,), in 0 .. C - 1
                                                 offset N, int C, int team, real* grad,  // (N, C)
                                                 double* losses) {                       // (N,)
    Team my = team_of(team);
    for (offset row = first_item(team); any_lane(row < N); row += item_stride(team)) {
        const real* x = logits + row * C;
        int count = row < N ? C : 0;
        real top = minus_infinity(), total = 0;
        for (int c = my.rank; c < count; c += team) top = larger(x[c], top);
        top = team_max(my, top);
        for (int c = my.rank; c < count; c += team) total += exp(x[c] - top);
        total = team_sum(my, total);
        if (row >= N) continue;
        long long target = targets[row];
        for (int c = my.rank; c < C; c += team)
            grad[row * C + c] = exp(x[c] - top) / total - (c == target ? real(1) : real(0));
        bool is_class = 0 <= target && target < C;
        if (my.rank == 0)
            losses[row] = is_class ? log(double(total)) - double(x[target] - top)
                                   : minus_infinity() - minus_infinity();
    }
}
