import { Fragment } from 'react'

/** Shows a path that breaks after its slashes. */
export function RequestPath({ path }: { path: string }) {
  const [, ...segments] = path.split('/')
  return (
    <span className="wrap-anywhere">
      {segments.map((segment, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: segments have no id and never move
        <Fragment key={index}>
          /<wbr />
          {segment}
        </Fragment>
      ))}
    </span>
  )
}
