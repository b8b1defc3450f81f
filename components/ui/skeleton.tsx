/** The place of something that is still being read. */
export function Skeleton({ className = '' }: { className?: string }) {
  return <span aria-hidden className={`block animate-pulse rounded-[6px] bg-sunk ${className}`} />
}
