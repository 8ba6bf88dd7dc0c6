/** Says which processes the page does not show. Behind a load balancer, responses may come from several. */
export function createInstanceNotice(place) {
  let seen = new Set()
  return {
    seen({ instance, workers, other_instances }) {
      const [machine] = instance.split(/:(?=\d+$)/)
      seen.add(workers > 1 ? machine : instance)
      const text = notice(instance, workers, other_instances)
      if (place.textContent !== text) place.textContent = text
      place.hidden = text === ''
    },
    clear() {
      seen = new Set()
      place.hidden = true
    },
  }

  function notice(instance, workers, others) {
    if (seen.size > 1)
      return `Responses come from ${seen.size} instances in turn: ${[...seen].join(', ')}. The charts are those of the last one. Open the page at the address of one instance to stay with it.`
    const elsewhere = others === null ? 0 : others - (workers - 1)
    if (elsewhere <= 0) return ''
    const shown = workers > 1 ? `the ${workers} processes of this machine` : instance
    return `${elsewhere} more ${elsewhere === 1 ? 'process uses' : 'processes use'} this database. The verdict and the charts are those of ${shown}. Searches and changes apply to all.`
  }
}
