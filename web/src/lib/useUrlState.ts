import { useSearchParams } from 'react-router';

/**
 * A filter or a tab that lives in the URL, so that a link shows what its sender saw. The default is not
 * written. A value that is not among `allowed` (an old or mistyped link) falls back to the default.
 */
export function useUrlChoice<T extends string>(name: string, allowed: readonly T[], fallback: T) {
  const [params, setParams] = useSearchParams();
  const raw = params.get(name);
  const value = allowed.find((each) => each === raw) ?? fallback;
  const set = (next: T) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (next === fallback) after.delete(name);
        else after.set(name, next);
        return after;
      },
      { replace: true },
    );
  return [value, set] as const;
}

/** Free text in the URL (a search box). */
export function useUrlText(name: string) {
  const [params, setParams] = useSearchParams();
  const set = (next: string) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (next === '') after.delete(name);
        else after.set(name, next);
        return after;
      },
      { replace: true },
    );
  return [params.get(name) ?? '', set] as const;
}
